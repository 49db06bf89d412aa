import { Refused } from '../server/exchange.ts';

const DOCUMENTATION = 'https://docs.github.com/rest';
const ISSUES = `${DOCUMENTATION}/issues/issues`;

function basic(status: number, message: string, documentation = ISSUES): Refused {
  return new Refused({
    status,
    body: { message, documentation_url: documentation, status: String(status) },
  });
}

export const requiresAuthentication = (): Refused => basic(401, 'Requires authentication', DOCUMENTATION);
export const badCredentials = (): Refused => basic(401, 'Bad credentials', DOCUMENTATION);
export const notFound = (): Refused => basic(404, 'Not Found');
export const gone = (): Refused => basic(410, 'This issue was deleted');
export const unreadable = (): Refused => basic(400, 'Problems parsing JSON', DOCUMENTATION);

/** GitHub has it, the fake has not: said aloud, so that no test passes on a wrong answer. */
export const notImplemented = (what: string): Refused => basic(501, `the fake does not know ${what}`);

export function agentMissing(): Refused {
  return basic(
    403,
    'Request forbidden by administrative rules. Please make sure your request has a User-Agent header',
    DOCUMENTATION,
  );
}

/** @param location null: GitHub itself does not know where to, as it happens for a private destination */
export function movedTo(location: string | null): Refused {
  const body = { message: 'Moved Permanently', ...(location === null ? {} : { url: location }) };
  return new Refused({
    status: 301,
    headers: { location: location ?? '' },
    body: { ...body, documentation_url: ISSUES },
  });
}

export interface FieldError {
  readonly resource: 'Issue' | 'IssueComment';
  readonly field: string;
  readonly code: 'missing_field' | 'invalid' | 'custom' | 'unprocessable';
  readonly message?: string;
}

export function invalid(...errors: FieldError[]): Refused {
  return new Refused({
    status: 422,
    body: { message: 'Validation Failed', errors, documentation_url: ISSUES, status: '422' },
  });
}

/** As GitHub words a body that its own schema refuses. */
export function contractBroken(problems: readonly string[]): Refused {
  const message = `Invalid request.\n\n${problems.join('\n')}`;
  return new Refused({ status: 422, body: { message, documentation_url: ISSUES, status: '422' } });
}
