import { writeFileSync } from 'node:fs';
import { referenceFolder, referencePages } from './pages.ts';

for (const [name, text] of referencePages()) writeFileSync(new URL(name, referenceFolder), text);
