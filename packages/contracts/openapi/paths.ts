import {
  appClientOperations,
  identityApi,
  issuesApi,
  type Operation,
  webSessionOperations,
} from '../src/index.ts';

const isInternal = ({ security = [] }: Operation) => security.includes('serviceToken');
const identity: readonly Operation[] = identityApi.operations;

// The internal API is a table of its own, so that no page in a browser contains its paths.
const tables: Readonly<Record<string, readonly Operation[]>> = {
  identityPaths: identity.filter((operation) => !isInternal(operation)),
  internalPaths: identity.filter(isInternal),
  issuesPaths: issuesApi.operations,
  webSessionPaths: webSessionOperations,
  appClientPaths: appClientOperations,
};

/** Returns the source text of the tables of methods and paths. */
export function pathTables(): string {
  const written = Object.entries(tables).map(([name, operations]) => {
    const entries = operations.map(({ id, method, path }) => `  ${id}: '${method} ${path}',\n`);
    return `\nexport const ${name} = {\n${entries.join('')}} as const;\n`;
  });
  return `// Written from the operations by \`npx pnpm@12 run openapi\`.\n${written.join('')}`;
}
