import { fileURLToPath } from 'node:url';

/** The folder of the whole monorepo. */
export const repositoryRoot = fileURLToPath(new URL('../../../..', import.meta.url));
