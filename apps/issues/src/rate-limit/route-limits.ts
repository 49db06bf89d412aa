import type { Access } from '@tessera/service-kit';
import type { Actor } from '../issue-core/actor.ts';
import type { limitRate } from './rate-limiter.ts';

/** What the routes of a feature share: who may call them, and the limits of reads and writes. */
export interface RouteLimits {
  access: Access<Actor>;
  reads: ReturnType<typeof limitRate>;
  writes: ReturnType<typeof limitRate>;
}
