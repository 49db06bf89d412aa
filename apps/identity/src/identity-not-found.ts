import { ProblemError } from '@tessera/service-kit';

/** 404 for an id, e-mail or SSO pair of no existing identity. Soft-deleted identities do not exist for callers. */
export function identityNotFoundProblem(): ProblemError {
  return new ProblemError({ status: 404, code: 'identity_not_found', detail: 'Identity not found.' });
}
