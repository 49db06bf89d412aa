import {
  type Api,
  commonCodes,
  identityApi,
  issuesApi,
  type Operation,
  problemReference,
  problemsOf,
} from '@tessera/contracts';
import { code, codes, table } from './table.ts';

/** The guides to the operations of a tag. */
const guides: Readonly<Record<string, string>> = {
  'OpenID Connect': '[Integrate a program](../integrate.md), [standard clients](../identity/clients.md).',
  'Internal identity API':
    '[Events](../identity/events.md), [the service token](../identity/service-token.md).',
  Clients: '[Register applications](../identity/applications.md).',
  Issues:
    '[Lists](../issues/lists.md), [search](../issues/search.md), [changes](../issues/changes.md), [permissions](../issues/permissions.md).',
  Comments: '[Comments and mentions](../issues/comments-and-mentions.md).',
  Labels: '[Labels](../issues/labels.md).',
  Watching: '[Watching](../issues/notifications.md#watching).',
  Notifications: '[Notifications](../issues/notifications.md).',
  Events: '[Events](../issues/events.md), [streams](../issues/event-streams.md).',
  Webhooks: '[Webhooks](../issues/webhooks.md).',
  Sync: '[Set up a tracker](../tracker-sync/set-up.md), [what is synced](../tracker-sync/what-is-synced.md), [conflicts](../tracker-sync/conflicts.md), [import](../tracker-sync/import.md).',
  Users: '[Permissions and people](../issues/permissions.md).',
};

const credentials: Readonly<Record<string, string>> = {
  accessToken: '`Authorization: Bearer`',
  serviceToken: '`X-Service-Token`',
};

const apis = { identity: identityApi, issues: issuesApi };

/** docs/reference/api.md: the operations, from which routes, documents and clients are made as well. */
export function apiPage(): string {
  return [
    '# Operations of both APIs',
    `Each service has the details at \`/api/docs/\`, a page to try them, and at \`/api/openapi.json\`, the OpenAPI 3.1 document. \`codes\` are
those that not every operation may have; [errors](../errors.md) says what they have in common, and [problem codes](problem-codes.md)
what each means. [Limits](limits.md) has the sizes of fields.`,
    ...Object.entries<Api>(apis).flatMap(([name, api]) => [
      `## ${name}`,
      api.description,
      ...Object.entries(api.tags).flatMap(([tag, description]) => [
        `### ${tag}${name === 'issues' && tag === 'Operations' ? ' of issues' : ''}`,
        guides[tag] === undefined ? description : `${description} ${guides[tag]}`,
        operationsTable(
          api,
          api.operations.filter(({ tags }) => tags.includes(tag)),
        ),
      ]),
    ]),
  ].join('\n\n');
}

function operationsTable(api: Api, operations: readonly Operation[]): string {
  return table(
    ['operation', 'does', 'credential', 'success', 'codes'],
    operations.map((operation) => [
      code(`${operation.method} ${operation.path.replaceAll(/:(\w+)/g, '{$1}')}`),
      operation.summary,
      (operation.security ?? []).map((scheme) => credentials[scheme] ?? scheme).join(', '),
      Object.keys(operation.responses).join(', '),
      codes(ownCodes(api, operation)),
    ]),
  );
}

const common = new Set<string>(Object.values(commonCodes).flat());

const ownCodes = (api: Api, operation: Operation) =>
  problemsOf(operation, api.secured)
    .flatMap((problem) => problem.codes)
    .filter((one) => !common.has(one));

/** docs/reference/problem-codes.md: the table that both services serve at `/api/problems`. */
export function problemCodesPage(): string {
  const uses = Object.entries<Api>(apis).flatMap(([name, api]) =>
    api.operations.flatMap((operation) =>
      problemsOf(operation, api.secured).flatMap(({ status, codes: listed }) =>
        listed.map((one) => ({ name, status: String(status), code: one as string })),
      ),
    ),
  );
  const rows = Object.entries(problemReference).map(([one, { meaning, action }]) => {
    const used = uses.filter((use) => use.code === one);
    const listOf = (key: 'name' | 'status') => [...new Set(used.map((use) => use[key]))].sort().join(', ');
    return [code(one), listOf('status'), listOf('name'), meaning, action];
  });
  return [
    '# Problem codes',
    `The \`code\` of each error, which programs compare. \`type\` of an error is the URL of the same entry at the service, as
\`/api/problems/version_conflict\`. A code without a status is of requests that reach no operation of the API document.`,
    table(['code', 'status', 'service', 'meaning', 'what to do'], rows),
  ].join('\n\n');
}
