import {
  betterAuthNames,
  sessionRequests,
  signInRequests,
  startBetterAuthFor,
} from '../contenders/better-auth.ts';
import { endpoints, loginRequests, userInfoRequests } from '../contenders/endpoints.ts';
import { measureLoad } from '../contenders/http-contender.ts';
import { bcryptLimitName, startLimit } from '../contenders/limit.ts';
import { ours } from '../contenders/tessera.ts';
import type { Lab } from '../lab/lab.ts';
import type { Load, LoadRequest } from '../load/load.ts';
import type { LoadGenerator } from '../load/load-generator.ts';
import type { Contender, Sample } from '../run/sample.ts';
import { RowBuilder, type RowPlan } from './row-plan.ts';

const connections = 100;
// Few enough to take hardly any processor time from the logins.
const readsPerSecond = 50;
// A hundred logins take several seconds. A shorter window would measure how the queue fills.
const warmUpSeconds = 2;
const leastSeconds = 8;

export const loginStormRow: RowPlan = {
  name: 'login-storm',
  title: `Login storm: ${connections} connections log in while others read`,
  goals: [
    { kind: 'ratio', of: bcryptLimitName, atLeast: 0.85 },
    { kind: 'bound', measure: 'JWKS p99 ms', atMost: 30 },
    { kind: 'bound', measure: 'userinfo p99 ms', atMost: 30 },
    { kind: 'ratio', of: betterAuthNames.bcrypt },
  ],
  start: async (lab, scope) => {
    const readers = lab.startGenerator(scope);
    const tessera = await lab.tessera();
    const row = new RowBuilder(lab.options)
      .add(
        storm(lab, readers, {
          name: ours,
          origin: tessera.identity.url,
          pid: tessera.identity.pid,
          logins: loginRequests(tessera),
          reads: {
            'JWKS p99 ms': endpoints.jwks.requests(),
            'userinfo p99 ms': userInfoRequests(tessera),
          },
        }),
      )
      .add(startLimit(scope, bcryptLimitName, 'bcrypt'));
    await row.addPeer(betterAuthNames.bcrypt, async () => {
      const peer = await startBetterAuthFor(lab, scope, 'bcrypt');
      return storm(lab, readers, {
        name: betterAuthNames.bcrypt,
        origin: peer.ready.url,
        pid: peer.pid,
        logins: signInRequests(peer),
        reads: { 'session p99 ms': sessionRequests(peer) },
      });
    });
    return row.build();
  },
};

interface StormOptions {
  name: string;
  origin: string;
  pid: number;
  logins: LoadRequest[];
  /** The reads beside the logins, by the name of their p99. */
  reads: Record<string, LoadRequest[]>;
}

function storm(lab: Lab, readers: LoadGenerator, options: StormOptions): Contender {
  const { name, origin, pid, logins, reads } = options;
  const run = async (seconds: number): Promise<Sample> => {
    const common = { origins: [origin], warmUpSeconds, seconds };
    const read = async ([extra, requests]: [string, LoadRequest[]]) => {
      const load: Load = { ...common, requests, connections: 16, perSecond: readsPerSecond };
      return [extra, (await readers.run(load)).p99Ms] as const;
    };
    const [sample, ...extras] = await Promise.all([
      measureLoad(
        lab.generator(),
        { ...common, requests: logins, connections },
        { server: [pid], database: await lab.postmaster() },
      ),
      ...Object.entries(reads).map(read),
    ]);
    return { ...sample, extras: Object.fromEntries(extras) };
  };
  return { name, measure: (seconds) => run(Math.max(seconds, leastSeconds)), warmUp: run };
}
