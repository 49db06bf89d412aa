import {
  issuesPath,
  listIssuePages,
  listNotifications,
  listWatching,
  type TimelineOrder,
} from '@tessera/contracts';
import { type IssueReference, parseIssueReference } from './issue-reference.ts';

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
