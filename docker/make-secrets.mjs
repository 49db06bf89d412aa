// Creates the missing secrets of the compose project. Each directory is a volume that only its reader mounts, so a
// service cannot read the password of its database's owner.
// Usage: node make-secrets.mjs FOLDER
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

const folder = process.argv[2];
if (folder === undefined) throw new Error('Usage: node make-secrets.mjs FOLDER');

const serviceUser = 1000;

/** Creates a secret if it does not exist. The rename is atomic, so no reader sees a partial file. */
function ensureSecret(path, make, { user, mode = 0o400 } = { user: serviceUser }) {
  const file = join(folder, path);
  if (!existsSync(file)) {
    mkdirSync(dirname(file), { recursive: true });
    const part = `${file}.part`;
    writeFileSync(part, `${make()}\n`, { mode: 0o600 });
    if (user !== undefined) chownSync(part, user, user);
    chmodSync(part, mode);
    renameSync(part, file);
  }
  return readFileSync(file, 'utf8').trimEnd();
}

const password = () => randomBytes(24).toString('hex');
// Readable by all, because the uid of the postgres user depends on the image.
const forPostgres = { user: undefined, mode: 0o444 };

ensureSecret('postgres/admin-password', password, forPostgres);
for (const service of ['identity', 'issues']) {
  for (const [role, file] of [
    [`${service}_owner`, `${service}-owner/migration-database-url`],
    [service, `${service}/database-url`],
  ]) {
    const secret = ensureSecret(`postgres/${role}-password`, password, forPostgres);
    ensureSecret(file, () => `postgresql://${role}:${secret}@postgres:5432/${service}`);
  }
}
const serviceToken = ensureSecret('identity/service-token', () => randomBytes(32).toString('base64url'));
ensureSecret('issues/service-token', () => serviceToken);
// Empty, except during a rotation.
for (const service of ['identity', 'issues']) ensureSecret(`${service}/service-token-previous`, () => '');
ensureSecret('issues/session-keys', () => randomBytes(32).toString('base64url'));
ensureSecret('identity/keys/identity-key-1.pem', () =>
  generateKeyPairSync('rsa', { modulusLength: 2048 })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .trimEnd(),
);
chownSync(join(folder, 'identity/keys'), serviceUser, serviceUser);
process.stdout.write('Every secret is there.\n');
