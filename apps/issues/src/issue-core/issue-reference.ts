import {
  issuesPath,
  listIssuePages,
  listNotifications,
  listWatching,
  type TimelineOrder,
} from '@tessera/contracts';
import { ProblemError, validationProblem } from '@tessera/service-kit';

/** The id or the number of an issue in a path. */
export type IssueReference = { id: string } | { number: number };

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
// Above the maximum of the sequence: well-formed, but no issue has this number.
const beyondNumbers = 2 ** 31;

/**
 * Parses `{id}` of a path: a UUID, a key such as `ISS-42` in any case, or a number. Throws a 422 problem for any other
 * text.
 */
export function parseIssueReference(text: string, keyPrefix: string, field = 'id'): IssueReference {
  if (uuid.test(text)) return { id: text.toLowerCase() };
  const number = parseIssueNumber(text, keyPrefix);
  if (number !== undefined) return { number };
  throw validationProblem([{ field, message: `must be a UUID, a key such as ${keyPrefix}-42, or a number` }]);
}

/** Returns the number in `42` or `ISS-42`; undefined for any other text. */
export function parseIssueNumber(text: string, keyPrefix: string): number | undefined {
  const digits = new RegExp(`^(?:${keyPrefix}-)?([1-9]\\d{0,18})$`, 'i').exec(text)?.[1];
  return digits === undefined ? undefined : Math.min(Number(digits), beyondNumbers);
}

/** Returns the issue. Throws a 404 problem if it is undefined. */
export function assertFound<Issue>(issue: Issue | undefined): Issue {
  if (issue !== undefined) return issue;
  throw new ProblemError({ status: 404, code: 'issue_not_found', detail: 'There is no such issue.' });
}

/** The public URLs of issues and their subresources. */
export class IssueUrls {
  readonly list: string;
  readonly pages: string;
  readonly watching: string;
  readonly notifications: string;
  readonly keyPrefix: string;

  /** `publicBaseUrl`: the public origin of the service. It is configured because a client controls the Host header. */
  constructor({ publicBaseUrl, keyPrefix }: { publicBaseUrl: string; keyPrefix: string }) {
    const origin = publicBaseUrl.replace(/\/+$/, '');
    this.list = `${origin}${issuesPath}/`;
    this.pages = `${origin}${listIssuePages.path}`;
    this.watching = `${origin}${listWatching.path}`;
    this.notifications = `${origin}${listNotifications.path}`;
    this.keyPrefix = keyPrefix;
  }

  /** Parses `{id}` of a path. Throws a 422 problem if it is invalid. */
  parse({ id }: { id: string }): IssueReference {
    return parseIssueReference(id, this.keyPrefix);
  }

  keyOf(number: number): string {
    return `${this.keyPrefix}-${number}`;
  }

  /** Returns the URL of a list of an issue. It is the same for each spelling of the key. */
  listOf(reference: IssueReference, name: 'comments' | 'activity', order: TimelineOrder): string {
    const url = this.of('id' in reference ? reference.id : this.keyOf(reference.number), name);
    return order === 'newest' ? `${url}?order=newest` : url;
  }

  /** Returns the URL of an issue or of a subresource. */
  of(id: string, ...parts: string[]): string {
    return `${this.list}${[id, ...parts].join('/')}/`;
  }
}
