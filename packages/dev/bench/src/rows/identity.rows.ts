import { applicationRefresh, authorize, exchange } from '../contenders/applications.ts';
import { bare, bareDocument, bareHttp, bareReads, bareRefreshes, bareSigning } from '../contenders/bare.ts';
import {
  betterAuthNames,
  betterAuthSession,
  betterAuthSignIn,
  startBetterAuthFor,
} from '../contenders/better-auth.ts';
import { endpoints, refreshConnections, userInfoRequests } from '../contenders/endpoints.ts';
import { bcryptLimitName, signingLimitName, startLimit } from '../contenders/limit.ts';
import {
  oidcDocument,
  oidcNames,
  oidcRefresh,
  oidcUserInfo,
  startOidc,
} from '../contenders/oidc-provider.ts';
import { before, tesseraContender } from '../contenders/tessera.ts';
import { endpointRow, RowBuilder, type RowPlan } from './row-plan.ts';

export const tokenRow = endpointRow({
  name: 'token',
  endpoint: endpoints.token,
  title: 'Log in (`POST /token`)',
  goals: [
    { kind: 'ratio', of: before, atLeast: 0.9 },
    // About 0.94 is possible, because the client and the database use the same cores.
    { kind: 'ratio', of: bcryptLimitName, atLeast: 0.9 },
    {
      ...{ kind: 'ratio', of: betterAuthNames.bcrypt, atLeast: 1.15 },
      outOfReach: 'both use nine tenths of what the cores can hash',
    },
    { kind: 'ratio', of: betterAuthNames.scrypt },
  ],
  addReferences: async (row, { lab, scope }) => {
    row.add(startLimit(scope, bcryptLimitName, 'bcrypt'));
    for (const hash of ['bcrypt', 'scrypt'] as const) {
      await row.addPeer(betterAuthNames[hash], async () =>
        betterAuthSignIn(lab, hash, await startBetterAuthFor(lab, scope, hash)),
      );
    }
  },
});

export const refreshRow = endpointRow({
  name: 'refresh',
  endpoint: endpoints.refresh,
  title: 'Refresh the tokens (`POST /token/refresh`)',
  goals: [
    { kind: 'ratio', of: before, atLeast: 0.9 },
    // The variant that does equal work: a rotation in PostgreSQL and two signatures.
    { kind: 'ratio', of: oidcNames.signing, atLeast: 1.5 },
    { kind: 'ratio', of: oidcNames.postgres },
    { kind: 'ratio', of: oidcNames.memory },
    { kind: 'ratio', of: signingLimitName, atLeast: 0.5 },
    { kind: 'ratio', of: bareSigning },
  ],
  addReferences: async (row, { lab, scope, tessera }) => {
    // Each round and the warm-up use a new grant on each connection.
    const grants = (lab.options.rounds + 1) * refreshConnections;
    for (const variant of ['signing', 'postgres', 'memory'] as const) {
      await row.addPeer(oidcNames[variant], async () =>
        oidcRefresh(lab, await startOidc(lab, scope, { variant, grants })),
      );
    }
    row.add(startLimit(scope, signingLimitName, 'signing'), await bareRefreshes(lab, scope, tessera));
  },
});

export const authorizeRow = endpointRow({
  name: 'authorize',
  endpoint: authorize,
  title: 'Give a code to a browser that is signed in (`GET /oidc/authorize`)',
  goals: [{ kind: 'ratio', of: before, atLeast: 0.9 }],
  addReferences: async () => undefined,
});

const refreshOfApplication = 'a refresh by the application';
const refreshOfPassword = 'a refresh (`POST /token/refresh`)';

export const exchangeRow = endpointRow({
  name: 'exchange',
  endpoint: exchange,
  title: 'Exchange a code (`POST /oidc/token`)',
  goals: [
    { kind: 'ratio', of: before, atLeast: 0.9 },
    // An exchange takes at most 1.3 times as long as a refresh, which signs the same three tokens.
    { kind: 'ratio', of: refreshOfApplication, atLeast: 0.77 },
    // It signs no ID token.
    { kind: 'ratio', of: refreshOfPassword },
  ],
  addReferences: async (row, { lab, tessera }) => {
    row.add(
      await tesseraContender(lab, tessera, applicationRefresh, { name: refreshOfApplication }),
      await tesseraContender(lab, tessera, endpoints.refresh, { name: refreshOfPassword }),
    );
  },
});

export const userInfoRow = endpointRow({
  name: 'userinfo',
  endpoint: endpoints.userinfo,
  title: 'Read the own identity (`GET /userinfo`)',
  goals: [
    { kind: 'ratio', of: before, atLeast: 0.9 },
    { kind: 'ratio', of: oidcNames.postgres, atLeast: 2.3 },
    { kind: 'ratio', of: bare, atLeast: 0.85 },
    { kind: 'ratio', of: betterAuthNames.session, atLeast: 14 },
    { kind: 'ratio', of: oidcNames.memory },
  ],
  addReferences: async (row, { lab, scope, tessera }) => {
    for (const variant of ['postgres', 'memory'] as const) {
      await row.addPeer(oidcNames[variant], async () =>
        oidcUserInfo(lab, await startOidc(lab, scope, { variant })),
      );
    }
    const path = (index: number) => `/userinfo/${tessera.people[index]?.id}`;
    row.add(
      await bareReads(lab, scope, {
        tessera,
        service: 'identity',
        requests: userInfoRequests(tessera),
        path,
      }),
    );
    await row.addPeer(betterAuthNames.session, async () =>
      betterAuthSession(lab, await startBetterAuthFor(lab, scope, 'bcrypt')),
    );
  },
});

export const jwksRow = documentRow('jwks', 'Public keys (`GET /jwks`)');
export const discoveryRow = documentRow(
  'discovery',
  'Discovery document (`GET /.well-known/openid-configuration`)',
);

function documentRow(name: 'jwks' | 'discovery', title: string): RowPlan {
  return endpointRow({
    name,
    endpoint: endpoints[name],
    title,
    goals: [
      ...(name === 'jwks' ? [{ kind: 'ratio', of: before, atLeast: 0.8 } as const] : []),
      { kind: 'ratio', of: oidcNames.memory, atLeast: 1.8 },
      { kind: 'ratio', of: bareHttp },
    ],
    addReferences: async (row, { lab, scope, tessera }) => {
      // oidc-provider reads neither document from its storage.
      await row.addPeer(oidcNames.memory, async () =>
        oidcDocument(lab, await startOidc(lab, scope, { variant: 'memory', grants: 1 }), name),
      );
      for (const request of endpoints[name].requests()) {
        row.add(await bareDocument(lab, scope, { tessera, request }));
      }
    },
  });
}

const knownToken = 'a token seen before';
const newToken = 'a new token';
const cpu = 'cpu µs';

export const verificationRow: RowPlan = {
  name: 'verification',
  title: 'Verify an access token, as issues does (one thread)',
  goals: [
    { kind: 'bound', contender: knownToken, measure: cpu, atMost: 60 },
    { kind: 'bound', contender: newToken, measure: cpu, atMost: 150 },
  ],
  start: async (lab, scope) =>
    new RowBuilder(lab.options)
      .add(
        startLimit(scope, knownToken, 'verify-known-token'),
        startLimit(scope, newToken, 'verify-new-token'),
      )
      .build(),
};
