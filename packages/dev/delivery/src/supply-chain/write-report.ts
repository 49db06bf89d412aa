import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { writeLicenceReport } from './licence-report.ts';
import { readSupplyChain } from './supply-chain.ts';

const target = new URL('../../dist/third-party-licences.md', import.meta.url);
mkdirSync(fileURLToPath(new URL('.', target)), { recursive: true });
writeFileSync(target, writeLicenceReport(readSupplyChain()));
