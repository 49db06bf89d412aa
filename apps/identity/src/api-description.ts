import { type ApiOperation, describeApi, healthOperations, type OpenApiDocument } from '@tessera/service-kit';
import { auditOperations } from './audit/audit.operations.ts';
import { discoveryOperations } from './discovery/discovery.operations.ts';
import { identityOperations } from './identities/identity.operations.ts';
import { introspectionOperations } from './introspection/introspection.operations.ts';
import { jwksOperations } from './keys/jwks.operations.ts';
import { sessionOperations } from './sessions/session.operations.ts';
import { tokenOperations } from './tokens/token.operations.ts';
import { userInfoOperations } from './userinfo/userinfo.operations.ts';

const operations: ApiOperation[] = [
  ...discoveryOperations,
  ...jwksOperations,
  ...tokenOperations,
  ...userInfoOperations,
  ...identityOperations,
  ...sessionOperations,
  ...introspectionOperations,
  ...auditOperations,
  ...healthOperations,
];

/** The service's OpenAPI document; a test holds it and the routes together. */
export function describeIdentityApi(): OpenApiDocument {
  return describeApi({
    title: 'Tessera identity',
    version: '1.1.1',
    description:
      'The authoritative identity service: a public OpenID Connect surface, and an internal API for trusted backends. Additive changes only: clients ignore members that they do not know.',
    operations,
    securitySchemes: {
      accessToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      serviceToken: {
        type: 'apiKey',
        in: 'header',
        name: 'X-Service-Token',
        description: 'For trusted backends alone; never in a browser.',
      },
    },
    tags: [{ name: 'OpenID Connect' }, { name: 'Internal identity API' }, { name: 'Operations' }],
  });
}
