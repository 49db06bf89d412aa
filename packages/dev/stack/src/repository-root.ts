import { fileURLToPath } from 'node:url';

/** The root folder of the repository. */
export const repositoryRoot = fileURLToPath(new URL('../../../..', import.meta.url));
