import { listIdentityEvents } from '../event.operations.ts';
import { getLiveness, getReadiness } from '../health.operations.ts';
import type { Api } from '../operation.ts';
import { transportErrors } from '../problem.schemas.ts';
import { listAuditEvents } from './audit.operations.ts';
import {
  createClient,
  disableClient,
  getClient,
  listClients,
  rotateClientSecret,
  updateClient,
} from './client.operations.ts';
import { getDiscoveryDocument, getKeySet } from './discovery.operations.ts';
import {
  changeIdentityPassword,
  createIdentity,
  deleteIdentity,
  findIdentityByEmail,
  findIdentityBySso,
  getIdentity,
  listIdentities,
  updateIdentity,
} from './identity.operations.ts';
import { introspectToken } from './introspection.operations.ts';
import { listSessions, revokeSession, revokeSessions } from './session.operations.ts';
import { getUserInfo, postUserInfo, refreshTokens, revokeToken, signIn } from './token.operations.ts';

/** The API of the identity service, in the order of its document. */
export const identityApi = {
  title: 'Tessera identity',
  version: '1.1.1',
  description: `The authoritative identity service: a public OpenID Connect API, and an internal API for trusted backends. ${transportErrors} Only additive changes: clients ignore unknown members.`,
  tags: {
    'OpenID Connect': 'The public endpoints.',
    'Internal identity API': 'For trusted backends, with the service token.',
    Clients:
      'The applications that sign people in with OpenID Connect, and machines. For trusted backends; every path is 404 unless the service is configured with `HOSTED_SIGN_IN=on`.',
    Operations: 'Health of the service.',
  },
  securitySchemes: {
    accessToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
    serviceToken: {
      type: 'apiKey',
      in: 'header',
      name: 'X-Service-Token',
      description: 'Only for trusted backends; never in a browser.',
    },
  },
  operations: [
    getDiscoveryDocument,
    getKeySet,
    signIn,
    refreshTokens,
    revokeToken,
    getUserInfo,
    postUserInfo,
    createIdentity,
    listIdentities,
    getIdentity,
    findIdentityByEmail,
    findIdentityBySso,
    updateIdentity,
    changeIdentityPassword,
    deleteIdentity,
    listSessions,
    revokeSessions,
    revokeSession,
    introspectToken,
    listAuditEvents,
    listIdentityEvents,
    createClient,
    listClients,
    getClient,
    updateClient,
    rotateClientSecret,
    disableClient,
    getLiveness,
    getReadiness,
  ],
} as const satisfies Api;
