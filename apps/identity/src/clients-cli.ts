import { readFile } from 'node:fs/promises';
import { createClientSchema, uuid } from '@tessera/contracts';
import {
  createLogger,
  ProblemError,
  parse,
  runCommandLine,
  UsageError,
  unavailableWhenDatabaseIsDown,
} from '@tessera/service-kit';
import { presentClient, readClientSettings } from './clients/client.presenter.ts';
import { ClientRepository } from './clients/client.repository.ts';
import { ClientService, disabledProblem, type GivenCredentials } from './clients/client.service.ts';
import { ClientDirectory } from './clients/client-directory.ts';
import { loadClientsConfig } from './config.ts';
import { createDatabase } from './database.ts';

const help = `Usage: node dist/clients-cli.js <command> [options]

Registers the applications that sign people in with OpenID Connect, and machines. Prints JSON.

Commands:
  create                       Register a client. Its secret is printed this once.
  list                         List all clients.
  rotate-secret <client id>    Make a new secret. The present one stays valid for a day.
  disable <client id>          Disable a client for good.

Options of create:
  --name <text>                The name that people see. Required.
  --kind <kind>                confidential, public or machine. Required.
  --redirect-uri <uri>         Where a browser may go with a code. Can be repeated.
  --post-logout-uri <uri>      Where a browser may go after a sign-out. Can be repeated.
  --backchannel-uri <uri>      Where the end of sessions is sent.
  --scope <scope>              openid, email, profile or groups. Can be repeated. Default: the first three.
  --audience <audience>        An audience of its access tokens, such as tessera. Can be repeated.
  --identity <id>              The identity of a machine, without a password.
  --without-pkce               Accept requests without a code challenge, from a confidential client.
  --third-party                Ask people for their consent.
  --client-id <uuid>           The id, if the deployment has made it before. If it exists, nothing changes.
  --secret-file <path>         The secret, if the deployment has made it before: at least 32 characters.
  -h, --help                   Print this help.

Environment, set as for the service:
  DATABASE_URL                 The database of the service.
  JWT_ISSUER, JWT_AUDIENCE     The issuer and the audience of the service's own tokens.

Exit codes: 0 success, 1 refused, 2 invalid command line.

Example:
  node dist/clients-cli.js create --name Wiki --kind confidential --redirect-uri https://wiki.example.com/callback
`;

const origin = { requestId: 'clients-cli', ip: '', userAgent: null };

interface Options {
  name?: string;
  kind?: string;
  'redirect-uri'?: string[];
  'post-logout-uri'?: string[];
  'backchannel-uri'?: string;
  scope?: string[];
  audience?: string[];
  identity?: string;
  'without-pkce': boolean;
  'third-party': boolean;
  'client-id'?: string;
  'secret-file'?: string;
}

/** The member of the API for each option of `create`. */
const members = {
  name: 'name',
  kind: 'kind',
  'redirect-uri': 'redirect_uris',
  'post-logout-uri': 'post_logout_redirect_uris',
  'backchannel-uri': 'backchannel_logout_uri',
  scope: 'scopes',
  audience: 'audiences',
  identity: 'identity_id',
  'without-pkce': 'require_pkce',
  'third-party': 'is_first_party',
  'client-id': 'client_id',
} as const satisfies Partial<Record<keyof Options, string>>;

async function create(clients: ClientService, options: Options): Promise<unknown> {
  if (options.name === undefined || options.kind === undefined)
    throw new UsageError('create requires --name and --kind');
  const { 'client-id': _, ...given } = members;
  const { kind, name, ...settings } = parse(createClientSchema, {
    ...Object.fromEntries(
      Object.entries(given).map(([option, member]) => [member, options[option as keyof typeof given]]),
    ),
    require_pkce: options['without-pkce'] ? false : undefined,
    is_first_party: options['third-party'] ? false : undefined,
  });
  if (kind === 'public' && options['secret-file'] !== undefined)
    throw new UsageError('--secret-file is not for a public client, which has no secret');
  const credentials = await credentialsOf(options);
  const known = await findKnown(clients, credentials.id);
  if (known !== undefined) return known;
  try {
    const input = { ...readClientSettings(settings), name, kind };
    const { client, secret } = await clients.create(input, origin, credentials);
    // A given secret is in its file already.
    return {
      ...presentClient(client),
      ...(credentials.secret === undefined ? { client_secret: secret } : {}),
    };
  } catch (error) {
    // Another process of the deployment has created it meanwhile.
    const created = await findKnown(clients, credentials.id);
    if (created !== undefined) return created;
    throw error;
  }
}

async function findKnown(clients: ClientService, id: string | undefined) {
  if (id === undefined) return undefined;
  try {
    const client = await clients.find(id);
    if (client.disabledAt !== null) throw disabledProblem();
    return presentClient(client);
  } catch (error) {
    if (error instanceof ProblemError && error.status === 404) return undefined;
    throw error;
  }
}

async function readSecret(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: Error) => {
    throw new Error(`--secret-file cannot be read: ${error.message}`, { cause: error });
  });
}

async function credentialsOf({ 'client-id': id, 'secret-file': file }: Options): Promise<GivenCredentials> {
  if (id !== undefined && uuid().safeParse(id).data !== id)
    throw new UsageError('--client-id must be a UUID in lower case');
  const secret = file === undefined ? undefined : (await readSecret(file)).trim();
  if (secret !== undefined && !/^[\x21-\x7e]{32,512}$/.test(secret))
    throw new UsageError('The secret in --secret-file must be 32 to 512 visible ASCII characters');
  return { id, secret };
}

async function list(clients: ClientService): Promise<unknown> {
  const found: unknown[] = [];
  let after: string | undefined;
  for (;;) {
    const page = await clients.list({ limit: 200, after });
    found.push(...page.map(presentClient));
    if (page.length < 200) return found;
    after = page.at(-1)?.id;
  }
}

async function run(clients: ClientService, command: string, id: string, options: Options): Promise<unknown> {
  if (command === 'create') return create(clients, options);
  if (command === 'list') return list(clients);
  if (uuid().safeParse(id).data !== id) throw new UsageError(`${command} requires the id of a client`);
  if (command === 'disable') {
    await clients.disable(id, origin);
    return presentClient(await clients.find(id));
  }
  const { secret, previousUntil } = await clients.rotateSecret(id, origin);
  return { client_secret: secret, previous_valid_until: previousUntil };
}

const argumentCounts: Readonly<Record<string, number>> = {
  create: 0,
  list: 0,
  'rotate-secret': 1,
  disable: 1,
};

process.exitCode = await runCommandLine(
  {
    name: 'node dist/clients-cli.js',
    help,
    options: {
      name: { type: 'string' },
      kind: { type: 'string' },
      'redirect-uri': { type: 'string', multiple: true },
      'post-logout-uri': { type: 'string', multiple: true },
      'backchannel-uri': { type: 'string' },
      scope: { type: 'string', multiple: true },
      audience: { type: 'string', multiple: true },
      identity: { type: 'string' },
      'without-pkce': { type: 'boolean', default: false },
      'third-party': { type: 'boolean', default: false },
      'client-id': { type: 'string' },
      'secret-file': { type: 'string' },
    },
    allowPositionals: true,
    run: async (options, [command, id = '', ...stray]) => {
      if (command === undefined) throw new UsageError('No command');
      const expected = argumentCounts[command];
      if (expected === undefined) throw new UsageError(`Unknown command '${command}'`);
      const [unexpected] = expected === 0 && id !== '' ? [id] : stray;
      if (unexpected !== undefined) throw new UsageError(`Unexpected argument '${unexpected}'`);
      let close: (() => Promise<void>) | undefined;
      try {
        const config = loadClientsConfig();
        const logger = createLogger({ service: 'identity', level: 'silent' });
        const connection = createDatabase(config.database, logger);
        close = connection.close;
        const repository = new ClientRepository(connection.database);
        const directory = new ClientDirectory(repository);
        const clients = new ClientService({
          repository,
          directory,
          audience: config.audience,
          issuer: config.issuer,
        });
        process.stdout.write(`${JSON.stringify(await run(clients, command, id, options), null, 2)}\n`);
        return 0;
      } catch (error) {
        if (error instanceof UsageError) throw error;
        process.stderr.write(`${explain(error)}\n`);
        return 1;
      } finally {
        await close?.();
      }
    },
  },
  process.argv.slice(2),
);

function explain(error: unknown): string {
  if (!(error instanceof ProblemError)) {
    const message = error instanceof Error ? error.message : String(error);
    // Prisma's messages begin with the call of the code.
    return unavailableWhenDatabaseIsDown(error) === undefined
      ? message
      : `The database is unavailable: ${message.split('\n').at(-1)}`;
  }
  const fields = error.errors?.map(({ field, message }) => `  ${optionOf(field)} ${message}`) ?? [];
  return [error.detail, ...fields].join('\n');
}

/** The option that sets a field, such as `redirect_uris.0`. */
function optionOf(field: string): string {
  const [member] = field.split('.');
  const option = Object.entries(members).find(([, name]) => name === member)?.[0];
  return option === undefined ? `${field}:` : `--${option}`;
}
