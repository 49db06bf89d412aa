import { type Api, identityApi, issuesApi, problemsOf } from '@tessera/contracts';

const apis: readonly Api[] = [identityApi, issuesApi];

/** The error responses of all operations, as `<operation> <status> <code>`. */
const documented = new Set(
  apis.flatMap(({ operations, secured }) =>
    operations.flatMap((operation) =>
      problemsOf(operation, secured).flatMap(({ status, codes }) =>
        codes.map((code) => `${operation.id} ${status} ${code}`),
      ),
    ),
  ),
);
/** The error responses with a body of their own, such as that of `/readyz`, as `<operation> <status>`. */
const withoutCode = new Set(
  apis.flatMap(({ operations }) =>
    operations.flatMap(({ id, responses }) => Object.keys(responses).map((status) => `${id} ${status}`)),
  ),
);
const undocumented = new Set<string>();

/** An error response of an operation. */
interface ErrorResponse {
  operationId: string;
  status: number;
  body: string;
}

/** Checks that the operation documents the code of its error response. */
export function recordErrorCode({ operationId, status, body }: ErrorResponse): void {
  const response = `${operationId} ${status} ${codeOf(body)}`;
  if (withoutCode.has(`${operationId} ${status}`)) return;
  if (!documented.has(response)) undocumented.add(response);
}

/** The recorded error responses that no operation documents. */
export function findUndocumentedCodes(): string[] {
  return [...undocumented];
}

/** Clears the recorded error responses; only for the tests of this module. */
export function forgetCodes(): void {
  undocumented.clear();
}

function codeOf(body: string): unknown {
  try {
    return JSON.parse(body).code;
  } catch {
    return 'without JSON';
  }
}
