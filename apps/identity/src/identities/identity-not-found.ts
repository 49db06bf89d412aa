import { ProblemError } from '@tessera/service-kit';

/** 404 for an id, e-mail or SSO pair that no live identity has. */
export function identityNotFoundProblem(): ProblemError {
  return new ProblemError({ status: 404, code: 'identity_not_found', detail: 'There is no such identity.' });
}
