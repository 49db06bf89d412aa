import {
  issuesPath,
  listIssuePages,
  listNotifications,
  listWatching,
  type TimelineOrder,
  uploadAttachment,
} from '@tessera/contracts';
import { ProblemError, validationProblem } from '@tessera/service-kit';
import type { Actor } from './actor.ts';
import type { ReadScope } from './project-access.ts';

/** The number of an issue, which is unique over all projects, with the key of a project if it is not the configured prefix. */
export interface NumberReference {
  number: number;
  /** In upper case. A present or former key of any project leads to the issue. */
  prefix?: string | undefined;
}

/** What names an issue: its id or its number. */
export type IssueName = { id: string } | NumberReference;

/** An issue as a reader names it. It leads to none that the scope does not have. */
export type IssueReference = IssueName & { scope: ReadScope };

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
// Above the maximum of the sequence: well-formed, but no issue has this number.
const beyondNumbers = 2 ** 31;

/**
 * Parses `{id}` of a path: a UUID, a key such as `ISS-42` in any case, or a number. Throws a 422 problem for any other
 * text.
 */
export function parseIssueReference(text: string, keyPrefix: string, field = 'id'): IssueName {
  if (uuid.test(text)) return { id: text.toLowerCase() };
  const reference = parseIssueNumber(text, keyPrefix);
  if (reference !== undefined) return reference;
  throw validationProblem([{ field, message: `must be a UUID, a key such as ${keyPrefix}-42, or a number` }]);
}

const numbered = /^(?:([a-z][a-z0-9]{0,9})-)?([1-9]\d{0,18})$/i;

/** Returns the number in `42` or `ISS-42`; undefined for any other text. */
export function parseIssueNumber(text: string, keyPrefix: string): NumberReference | undefined {
  const [, key, digits] = numbered.exec(text) ?? [];
  if (digits === undefined) return undefined;
  const number = Math.min(Number(digits), beyondNumbers);
  const prefix = key?.toUpperCase();
  return prefix === undefined || prefix === keyPrefix ? { number } : { number, prefix };
}

/** Names an issue for a reader. */
export function seenBy(name: IssueName, { access }: Pick<Actor, 'access'>): IssueReference {
  return { ...name, scope: access.scope };
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
  readonly #attachments: string;
  readonly keyPrefix: string;

  /** `publicBaseUrl`: the public origin of the service. It is configured because a client controls the Host header. */
  constructor({ publicBaseUrl, keyPrefix }: { publicBaseUrl: string; keyPrefix: string }) {
    const origin = publicBaseUrl.replace(/\/+$/, '');
    this.list = `${origin}${issuesPath}/`;
    this.pages = `${origin}${listIssuePages.path}`;
    this.watching = `${origin}${listWatching.path}`;
    this.notifications = `${origin}${listNotifications.path}`;
    this.#attachments = `${origin}${uploadAttachment.path}`;
    this.keyPrefix = keyPrefix;
  }

  /** Returns the URL of a file, or of its content. */
  attachment(id: string, ...parts: string[]): string {
    return `${this.#attachments}${[id, ...parts].join('/')}/`;
  }

  /** Parses `{id}` of a path. Throws a 422 problem if it is invalid. */
  parse({ id }: { id: string }, reader: Pick<Actor, 'access'>): IssueReference {
    return seenBy(parseIssueReference(id, this.keyPrefix), reader);
  }

  /** Parses the name of an issue in a field. Throws a 422 problem if it is invalid. */
  named(text: string, field: string, reader: Pick<Actor, 'access'>): IssueReference {
    return seenBy(parseIssueReference(text, this.keyPrefix, field), reader);
  }

  /** `projectKey`: null for the default project. */
  keyOf({ number, projectKey }: { number: number; projectKey: string | null }): string {
    return `${this.projectKey(projectKey)}-${number}`;
  }

  projectKey(key: string | null): string {
    return key ?? this.keyPrefix;
  }

  /** Returns the URL of a list of an issue. It is the same for each spelling of the key. */
  listOf(reference: IssueName, name: 'comments' | 'activity', order: TimelineOrder): string {
    const url = this.of('id' in reference ? reference.id : keyIn(reference, this.keyPrefix), name);
    return order === 'newest' ? `${url}?order=newest` : url;
  }

  /** Returns the URL of an issue or of a subresource. */
  of(id: string, ...parts: string[]): string {
    return `${this.list}${[id, ...parts].join('/')}/`;
  }
}

function keyIn({ number, prefix }: NumberReference, keyPrefix: string): string {
  return `${prefix ?? keyPrefix}-${number}`;
}
