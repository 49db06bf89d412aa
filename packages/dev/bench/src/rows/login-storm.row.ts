import {
  betterAuthNames,
  sessionRequests,
  signInRequests,
  startBetterAuthFor,
} from '../contenders/better-auth.ts';
import { measureLoad } from '../contenders/http-contender.ts';
import { ours } from '../contenders/tessera.ts';
import { documentRequest, loginRequests, userInfoRequests } from '../contenders/tessera-requests.ts';
import type { Lab } from '../lab/lab.ts';
import type { Load, LoadRequest } from '../load/load.ts';
import type { LoadGenerator } from '../load/load-generator.ts';
import type { Contender, Sample } from '../run/sample.ts';
import { bcryptLimit, bcryptLimitName } from './bcrypt-limit.ts';
import { RowBuilder, type RowPlan } from './row-plan.ts';

const connections = 100;
// Few enough that they take next to nothing from the logins.
const besidePerSecond = 50;
// A hundred logins take some seconds to go through, and who hands all of them on at once answers in waves: in less, one
// would measure how the queue fills.
const warmUpSeconds = 2;
const leastSeconds = 8;

export const loginStormRow: RowPlan = {
  name: 'login-storm',
  title: `${connections} connections log in, while others read`,
  goals: [
    { kind: 'ratio', of: bcryptLimitName, atLeast: 0.85 },
    { kind: 'bound', measure: 'JWKS p99 ms', atMost: 30 },
    { kind: 'bound', measure: 'userinfo p99 ms', atMost: 30 },
    { kind: 'ratio', of: betterAuthNames.bcrypt },
  ],
  open: async (lab, scope) => {
    const readers = lab.startGenerator(scope);
    const tessera = await lab.tessera();
    const row = new RowBuilder()
      .add(
        storm(lab, readers, {
          name: ours,
          origin: tessera.identity.url,
          pid: tessera.identity.pid,
          logins: loginRequests(tessera),
          beside: {
            'JWKS p99 ms': [documentRequest('/jwks')],
            'userinfo p99 ms': userInfoRequests(tessera),
          },
        }),
      )
      .add(bcryptLimit(scope));
    await row.addPeer(betterAuthNames.bcrypt, async () => {
      const peer = await startBetterAuthFor(lab, scope, 'bcrypt');
      return storm(lab, readers, {
        name: betterAuthNames.bcrypt,
        origin: peer.ready.url,
        pid: peer.pid,
        logins: signInRequests(peer),
        beside: { 'session p99 ms': sessionRequests(peer) },
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
  /** What others ask for meanwhile, by what its p99 is called. */
  beside: Record<string, LoadRequest[]>;
}

function storm(lab: Lab, readers: LoadGenerator, options: StormOptions): Contender {
  const { name, origin, pid, logins, beside } = options;
  const run = async (seconds: number): Promise<Sample> => {
    const common = { origins: [origin], warmUpSeconds, seconds };
    const read = async ([extra, requests]: [string, LoadRequest[]]) => {
      const load: Load = { ...common, requests, connections: 16, perSecond: besidePerSecond };
      return [extra, (await readers.run(load)).p99Ms] as const;
    };
    const [sample, ...extras] = await Promise.all([
      measureLoad(
        lab.generator(),
        { ...common, requests: logins, connections },
        { server: [pid], database: await lab.postmaster() },
      ),
      ...Object.entries(beside).map(read),
    ]);
    return { ...sample, extras: Object.fromEntries(extras) };
  };
  return { name, measure: (seconds) => run(Math.max(seconds, leastSeconds)), warmUp: run };
}
