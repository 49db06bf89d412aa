import type { StackEnvironment, Variables } from '../environment.ts';
import { threadPoolSize } from '../thread-pool.ts';
import type { Service } from './services.ts';

export interface ServiceSettings {
  readonly service: Service;
  readonly environment: StackEnvironment;
  /** The result of {@link prepareSecrets}. */
  readonly secrets: Variables;
  readonly databaseUrl: string;
  readonly mode: 'production' | 'development';
}

// The secrets that only the other service gets.
const FOREIGN_SECRETS = {
  identity: ['SESSION_KEYS', 'SESSION_KEYS_FILE', 'OIDC_CLIENT_SECRET', 'OIDC_CLIENT_SECRET_FILE'],
  // docs/spec/identity-service.md 1: the private signing key stays inside the identity service.
  issues: ['JWT_PRIVATE_KEY', 'JWT_PRIVATE_KEY_FILE', 'JWT_KEYS_DIR', 'JWT_ACTIVE_KID'],
};

const isOff = (flag = 'on') => ['off', 'false', '0'].includes(flag);

/** The environment of one service: defaults for one machine, then the user's variables, then fixed ones. */
export function serviceEnvironment(settings: ServiceSettings): Record<string, string> {
  const { service, environment, secrets, databaseUrl, mode } = settings;
  const { ports, passedOn } = environment;
  const variables: Record<string, string> = {
    HOST: '127.0.0.1',
    JWT_ISSUER: `http://localhost:${ports.identity}`,
    ALLOW_LOOPBACK_ISSUER: 'true',
    SHUTDOWN_DELAY_MS: '0',
    UV_THREADPOOL_SIZE: threadPoolSize,
    // The web app signs people in through issues, which sends the browser's address.
    ...(service.name === 'identity' && { TRUST_PROXY: 'loopback', HOSTED_SIGN_IN: 'on' }),
    ...(service.name === 'issues' && {
      WEB_APP: 'on',
      // The service registers itself at identity.
      SIGN_IN: isOff(passedOn.HOSTED_SIGN_IN) ? 'form' : 'hosted',
      // Receivers of webhooks on this machine.
      WEBHOOK_ALLOW_HTTP: 'on',
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8,::1',
      IDENTITY_URL: `http://127.0.0.1:${ports.identity}`,
      PUBLIC_BASE_URL: `http://localhost:${ports.issues}`,
    }),
    ...secrets,
    ...passedOn,
    NODE_ENV: mode,
    PORT: String(ports[service.name]),
    DATABASE_URL: databaseUrl,
  };
  for (const name of FOREIGN_SECRETS[service.name]) delete variables[name];
  return variables;
}
