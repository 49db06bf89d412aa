/** The colors of a brand in both themes. White texts on buttons and the links on the page are readable. */
export interface BrandColors {
  button: string;
  darkButton: string;
  darkLink: string;
}

type Rgb = readonly [number, number, number];

/** The card in the dark theme; `assets/pages.css` has the same value. */
export const darkSurface = '#171a20';
const white = '#ffffff';

/** The contrast of two colors such as `#3b4fd8`, from 1 to 21 (WCAG 2.2). */
export function contrastOf(first: string, second: string): number {
  const [dark = 0, light = 0] = [luminanceOf(first), luminanceOf(second)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** Whether white text is readable on the color, and the color on white (WCAG 2.2, 1.4.3). */
export function isReadable(color: string): boolean {
  return contrastOf(color, white) >= 4.5;
}

/** @param color one that is readable. At a contrast of 3 to the dark card, white is still readable on it. */
export function brandColors(color: string): BrandColors {
  return { button: color, darkButton: lighten(color, 3), darkLink: lighten(color, 6) };
}

/** Mixes the color with white until it has the contrast to the dark card. */
function lighten(color: string, contrast: number): string {
  for (let share = 0; share < 1; share += 0.01) {
    const mixed = toHex(toRgb(color).map((channel) => channel + (255 - channel) * share));
    if (contrastOf(mixed, darkSurface) >= contrast) return mixed;
  }
  return white;
}

function toRgb(color: string): Rgb {
  const value = Number.parseInt(color.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

function toHex(channels: readonly number[]): string {
  return `#${channels.map((channel) => Math.round(channel).toString(16).padStart(2, '0')).join('')}`;
}

function luminanceOf(color: string): number {
  const [red = 0, green = 0, blue = 0] = toRgb(color).map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
