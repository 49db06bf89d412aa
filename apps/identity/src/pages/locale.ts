/** Of a list that a client sends, the languages that count. */
const maxWishes = 20;

/**
 * Selects the language of a page: the first of `ui_locales` that exists (OpenID Connect Core 3.1.2.1), else that of
 * `Accept-Language` with the highest weight (RFC 9110 12.5.4), else English. A language matches without its region.
 */
export function selectLocale(
  available: readonly string[],
  {
    uiLocales = '',
    acceptLanguage = '',
  }: { uiLocales?: string | undefined; acceptLanguage?: string | undefined },
): string {
  const wishes = [...uiLocales.split(' ').slice(0, maxWishes), ...weighted(acceptLanguage)];
  for (const wish of wishes) {
    const [language = ''] = wish.trim().toLowerCase().split('-');
    if (language === '*') break;
    if (available.includes(language)) return language;
  }
  return 'en';
}

function weighted(header: string): string[] {
  return header
    .split(',', maxWishes)
    .map((item) => {
      const [language = '', ...parameters] = item.split(';');
      const weight = parameters.find((parameter) => parameter.trim().startsWith('q='));
      return { language, weight: weight === undefined ? 1 : Number(weight.trim().slice(2)) };
    })
    .filter(({ weight }) => weight > 0)
    .sort((one, other) => other.weight - one.weight)
    .map(({ language }) => language);
}

const rightToLeft = ['ar', 'dv', 'fa', 'he', 'ku', 'ps', 'sd', 'ug', 'ur', 'yi'];

export function directionOf(locale: string): 'ltr' | 'rtl' {
  return rightToLeft.includes(locale) ? 'rtl' : 'ltr';
}
