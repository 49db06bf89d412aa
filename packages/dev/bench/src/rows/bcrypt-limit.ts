import { type LimitProcess, startLimit } from '../contenders/limit.ts';
import type { Scope } from '../lab/scope.ts';

export const bcryptLimitName = 'bcrypt.compare on all cores';

/** What no service that hashes with bcrypt can beat. */
export function bcryptLimit(scope: Scope): LimitProcess {
  const entry = new URL('../servers/bcrypt-limit.process.ts', import.meta.url);
  const limit = startLimit(bcryptLimitName, entry);
  scope.defer(() => limit.stop());
  return limit;
}
