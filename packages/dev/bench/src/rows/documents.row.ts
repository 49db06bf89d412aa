import { bareDocument, bareHttp } from '../contenders/bare-http.ts';
import { httpContender } from '../contenders/http-contender.ts';
import { oidcDocument, oidcNames, startOidc } from '../contenders/oidc-provider.ts';
import { probed } from '../contenders/probe.ts';
import { ours } from '../contenders/tessera.ts';
import { documentRequest } from '../contenders/tessera-requests.ts';
import { RowBuilder, type RowPlan } from './row-plan.ts';

export const jwksRow = documentRow('jwks', '/jwks', 'The public keys (`GET /jwks`)');
export const discoveryRow = documentRow(
  'discovery',
  '/.well-known/openid-configuration',
  'Discovery (`GET /.well-known/openid-configuration`)',
);

function documentRow(name: 'jwks' | 'discovery', path: string, title: string): RowPlan {
  return {
    name,
    title,
    goals: [
      { kind: 'ratio', of: oidcNames.memory, atLeast: 1.8 },
      { kind: 'ratio', of: bareHttp },
    ],
    open: async (lab, scope) => {
      const { identity } = await lab.tessera();
      const request = documentRequest(path);
      const contender = httpContender(lab, {
        name: ours,
        origins: [identity.url],
        requests: await probed(identity.url, [request], () => undefined),
        pids: () => [identity.pid],
      });
      const row = new RowBuilder().add(contender);
      // Neither document is read from its storage.
      await row.addPeer(oidcNames.memory, async () =>
        oidcDocument(lab, 'memory', await startOidc(lab, scope, 'memory', 1), name),
      );
      return row.add(await bareDocument(lab, scope, identity.url, request)).build();
    },
  };
}
