import { type IssueReference, parseIssueReference } from './issue-reference.ts';

/** issue-tracking.md 4: with a slash at the end or without, both are served in place. */
export const issuesPath = '/api/v1/issues';
export const issuePath = `${issuesPath}/:id`;

/** The public addresses of issues and of what belongs to them. */
export class IssueAddresses {
  readonly list: string;
  readonly keyPrefix: string;

  /** `publicBaseUrl` is where clients find this service; a request's Host header is not to be trusted with that. */
  constructor({ publicBaseUrl, keyPrefix }: { publicBaseUrl: string; keyPrefix: string }) {
    this.list = `${publicBaseUrl.replace(/\/+$/, '')}${issuesPath}/`;
    this.keyPrefix = keyPrefix;
  }

  /** Reads `{id}` of a path; throws a 422 problem. */
  parse(parameters: { id?: unknown }): IssueReference {
    return parseIssueReference(String(parameters.id), this.keyPrefix);
  }

  /** The address of an issue, or of something that belongs to it. */
  of(id: string, ...parts: string[]): string {
    return `${this.list}${[id, ...parts].join('/')}/`;
  }
}
