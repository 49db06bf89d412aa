import { ErrorResponse } from '../server/exchange.ts';

const DOCUMENTATION = 'https://docs.github.com/rest';
const ISSUES = `${DOCUMENTATION}/issues/issues`;

function basic(status: number, message: string, documentation = ISSUES): ErrorResponse {
  return new ErrorResponse({
    status,
    body: { message, documentation_url: documentation, status: String(status) },
  });
}

export const requiresAuthentication = (): ErrorResponse =>
  basic(401, 'Requires authentication', DOCUMENTATION);
export const badCredentials = (): ErrorResponse => basic(401, 'Bad credentials', DOCUMENTATION);
export const notFound = (): ErrorResponse => basic(404, 'Not Found');
export const noSuchLabel = (): ErrorResponse =>
  basic(404, 'Label does not exist', `${DOCUMENTATION}/issues/labels#remove-a-label-from-an-issue`);
export const gone = (): ErrorResponse => basic(410, 'This issue was deleted');
// docs.github.com/rest/issues: "If issues are disabled in the repository, the API returns a 410 Gone status."
export const issuesDisabled = (): ErrorResponse => basic(410, 'Issues are disabled for this repo');
export const locked = (): ErrorResponse => basic(403, 'Unable to create comment because issue is locked.');
// docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api, "Resource not accessible".
export const notAccessible = (): ErrorResponse =>
  basic(403, 'Resource not accessible by personal access token');
export const archived = (): ErrorResponse => basic(403, 'Repository was archived so is read-only.');
export const unreadable = (): ErrorResponse => basic(400, 'Problems parsing JSON', DOCUMENTATION);

/** A 501 for a feature that GitHub has and the fake does not implement, so that no test relies on it. */
export const notImplemented = (what: string): ErrorResponse =>
  basic(501, `the fake does not implement ${what}`);

export function agentMissing(): ErrorResponse {
  return basic(
    403,
    'Request forbidden by administrative rules. Please make sure your request has a User-Agent header',
    DOCUMENTATION,
  );
}

/** @param location null: an empty `Location`, as GitHub sends for a private destination */
export function movedTo(location: string | null): ErrorResponse {
  const body = { message: 'Moved Permanently', ...(location === null ? {} : { url: location }) };
  return new ErrorResponse({
    status: 301,
    headers: { location: location ?? '' },
    body: { ...body, documentation_url: ISSUES },
  });
}

export interface FieldError {
  readonly resource: 'Issue' | 'IssueComment' | 'Label';
  readonly field: string;
  readonly code: 'missing_field' | 'already_exists' | 'invalid' | 'custom' | 'unprocessable';
  readonly message?: string;
}

export function invalid(...errors: FieldError[]): ErrorResponse {
  return new ErrorResponse({
    status: 422,
    body: { message: 'Validation Failed', errors, documentation_url: ISSUES, status: '422' },
  });
}

/** GitHub's error for a body that violates its schema. */
export function contractBroken(problems: readonly string[]): ErrorResponse {
  const message = `Invalid request.\n\n${problems.join('\n')}`;
  return new ErrorResponse({ status: 422, body: { message, documentation_url: ISSUES, status: '422' } });
}
