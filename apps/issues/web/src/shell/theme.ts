/** `light` or `dark` as the user chose it; without a choice, the system decides. */
export type Theme = 'light' | 'dark';

const key = 'tessera-theme';

function apply(theme: string | null): void {
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
}

export function startTheme(): void {
  apply(localStorage.getItem(key));
}

export function currentTheme(): Theme {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === 'light' || chosen === 'dark') return chosen;
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}

export function chooseTheme(theme: Theme): void {
  localStorage.setItem(key, theme);
  apply(theme);
}
