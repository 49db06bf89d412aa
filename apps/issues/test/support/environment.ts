import { patientLimits } from '@tessera/stack';
import { rememberSecret } from '@tessera/testing/leaks';

export const publicBaseUrl = 'https://issues.test';
export const serviceToken = rememberSecret('the-service-token-of-the-tests-0123456789');

/** The environment of every service under test: the defaults of production, without rate limits, also on a slow machine. */
export function testEnvironment(
  databaseUrl: string,
  identityUrl: string,
  overrides: Record<string, string> = {},
): Record<string, string> {
  return {
    NODE_ENV: 'test',
    DATABASE_URL: databaseUrl,
    ...patientLimits,
    SERVICE_TOKEN: serviceToken,
    IDENTITY_URL: identityUrl,
    IDENTITY_TIMEOUT_MS: '20000',
    JWT_ISSUER: identityUrl,
    PUBLIC_BASE_URL: publicBaseUrl,
    MIRROR_INTERVAL_SECONDS: '0',
    RATE_LIMIT_READS_PER_MINUTE: '0',
    RATE_LIMIT_WRITES_PER_MINUTE: '0',
    RATE_LIMIT_SYNCS_PER_MINUTE: '0',
    ...overrides,
  };
}
