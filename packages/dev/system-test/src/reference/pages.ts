import { environmentPage } from './environment.ts';
import { limitsPage } from './limits.ts';
import { metricsPage } from './metrics.ts';
import { apiPage, problemCodesPage } from './operations.ts';
import { rightsPage } from './rights.ts';

/** The folder of the pages. */
export const referenceFolder = new URL('../../../../../docs/reference/', import.meta.url);

const notice = '_Generated from the code by `npx pnpm@12 run docs`; change it there._';

/** The pages by the names of their files. */
export function referencePages(): Map<string, string> {
  const pages = {
    'api.md': apiPage(),
    'environment.md': environmentPage(),
    'limits.md': limitsPage(),
    'metrics.md': metricsPage(),
    'problem-codes.md': problemCodesPage(),
    'rights.md': rightsPage(),
  };
  return new Map(
    Object.entries(pages).map(([name, text]) => [name, `${text.replace('\n\n', `\n\n${notice}\n\n`)}\n`]),
  );
}
