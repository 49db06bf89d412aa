// Makes every secret of the compose project, once: what is there already stays. Each folder is a volume that only its
// reader mounts: whoever serves never sees the password of whoever owns the tables.
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

/** Keeps a secret that exists; the rename makes sure that nobody ever reads half of one. */
function keep(path, make, { user, mode = 0o400 } = { user: serviceUser }) {
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
// Read by the postgres image's own user, whose number differs from image to image.
const forPostgres = { user: undefined, mode: 0o444 };

keep('postgres/admin-password', password, forPostgres);
for (const service of ['identity', 'issues']) {
  for (const [role, file] of [
    [`${service}_owner`, `${service}-owner/migration-database-url`],
    [service, `${service}/database-url`],
  ]) {
    const secret = keep(`postgres/${role}-password`, password, forPostgres);
    keep(file, () => `postgresql://${role}:${secret}@postgres:5432/${service}`);
  }
}
const serviceToken = keep('identity/service-token', () => randomBytes(32).toString('base64url'));
keep('issues/service-token', () => serviceToken);
keep('identity/keys/identity-key-1.pem', () =>
  generateKeyPairSync('rsa', { modulusLength: 2048 })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .trimEnd(),
);
chownSync(join(folder, 'identity/keys'), serviceUser, serviceUser);
process.stdout.write('Every secret is there.\n');
