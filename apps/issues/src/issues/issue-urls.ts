import { issuesPath } from '@tessera/contracts';
import { type IssueReference, parseIssueReference } from './issue-reference.ts';

/** The public URLs of issues and of what belongs to them. */
export class IssueUrls {
  readonly list: string;
  readonly keyPrefix: string;

  /** `publicBaseUrl` is where clients find this service: a request's Host header is not to be trusted. */
  constructor({ publicBaseUrl, keyPrefix }: { publicBaseUrl: string; keyPrefix: string }) {
    this.list = `${publicBaseUrl.replace(/\/+$/, '')}${issuesPath}/`;
    this.keyPrefix = keyPrefix;
  }

  /** Reads `{id}` of a path; throws a 422 problem. */
  parse({ id }: { id: string }): IssueReference {
    return parseIssueReference(id, this.keyPrefix);
  }

  /** The URL of a list of an issue, the same for each spelling of its key. */
  listOf(reference: IssueReference, name: 'comments' | 'activity'): string {
    return this.of('id' in reference ? reference.id : `${this.keyPrefix}-${reference.number}`, name);
  }

  /** The URL of an issue, or of something that belongs to it. */
  of(id: string, ...parts: string[]): string {
    return `${this.list}${[id, ...parts].join('/')}/`;
  }
}
