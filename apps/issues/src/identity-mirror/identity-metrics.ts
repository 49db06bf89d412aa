import type { Metrics } from '@tessera/service-kit';
import type { IdentityClient } from './identity-client.ts';
import type { BreakerState } from './identity-transport.ts';

const states: BreakerState[] = ['closed', 'half_open', 'open'];

/** Whether identity is being asked: 1 for the breaker's present state, 0 for the others. */
export function observeBreaker(metrics: Metrics, client: IdentityClient): void {
  const help = 'The breaker in front of identity: 1 for its present state.';
  const gauge = metrics.gauge('issues_identity_breaker_state', help, ['state'], () => {
    const { breaker } = client.status();
    for (const state of states) gauge.set({ state }, state === breaker ? 1 : 0);
  });
}
