import { ProblemError } from '@tessera/service-kit';

/** An error of RFC 6749 5.2, RFC 7009 2.2.1 or RFC 8707 2. */
type ProtocolError =
  | 'invalid_request'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'invalid_target'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'unsupported_token_type';

/** 400 with the error for the client. */
export function protocolProblem(error: ProtocolError, detail: string, cause?: unknown): ProblemError {
  return new ProblemError({ status: 400, code: error, detail, members: { error }, cause });
}

/** 401 for a client whose credential is not accepted (RFC 6749 5.2). `reason` is only logged. */
export function invalidClient(reason: string): ProblemError {
  return new ProblemError({
    status: 401,
    code: 'invalid_client',
    detail: 'The client is not known, or its credential is not accepted.',
    members: { error: 'invalid_client' },
    headers: { 'WWW-Authenticate': 'Basic realm="oidc", charset="UTF-8"' },
    logged: { reason },
  });
}
