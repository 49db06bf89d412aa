import type { Metrics } from '@tessera/service-kit';
import type { IdentityClient } from './identity-client.ts';
import type { BreakerState } from './identity-transport.ts';

const breakerStates: BreakerState[] = ['closed', 'half_open', 'open'];

/** Exposes the state of the circuit breaker: 1 for the current state, 0 for the others. */
export function observeBreaker(metrics: Metrics, client: IdentityClient): void {
  const help = 'State of the circuit breaker for identity: 1 for the current state.';
  const gauge = metrics.gauge('issues_identity_breaker_state', help, ['state'], () => {
    const { breaker } = client.status();
    for (const state of breakerStates) gauge.set({ state }, state === breaker ? 1 : 0);
  });
}
