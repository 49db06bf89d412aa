// Prints new secrets for the local overlay as one List. Run it once: `node k8s/make-secrets.mjs | kubectl create -f -`.
// A second run has other passwords than the databases; `create` refuses Secrets that exist.
import { generateKeyPairSync, randomBytes } from 'node:crypto';

const password = () => randomBytes(24).toString('hex');

function secret(name, stringData) {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'tessera', labels: { 'app.kubernetes.io/part-of': 'tessera' } },
    type: 'Opaque',
    stringData,
  };
}

const serviceToken = randomBytes(32).toString('base64url');

function secretsOf(service) {
  const [own, owner, admin] = [password(), password(), password()];
  const urlOf = (role, secret) => `postgresql://${role}:${secret}@${service}-postgres:5432/${service}`;
  return [
    secret(`${service}-secrets`, {
      'database-url': urlOf(service, own),
      'service-token': serviceToken,
      'service-token-previous': '',
      ...(service === 'issues' && { 'session-keys': randomBytes(32).toString('base64url') }),
    }),
    secret(`${service}-owner-secrets`, { 'migration-database-url': urlOf(`${service}_owner`, owner) }),
    secret(`${service}-postgres`, { 'admin-password': admin, password: own, 'owner-password': owner }),
  ];
}

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'tessera' } };
const items = [
  namespace,
  ...secretsOf('identity'),
  ...secretsOf('issues'),
  secret('identity-keys', { 'identity-key-1.pem': privateKey.export({ type: 'pkcs8', format: 'pem' }) }),
];
process.stdout.write(`${JSON.stringify({ apiVersion: 'v1', kind: 'List', items }, null, 2)}\n`);
