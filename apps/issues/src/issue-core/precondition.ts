import { hash } from 'node:crypto';
import type { Issue } from '@tessera/contracts';
import { ProblemError } from '@tessera/service-kit';
import type { IssueWithLinks } from './issue.ts';
import { linkValue } from './link.ts';

/** The state that a client bases its change on. */
export interface Precondition {
  /** The `If-Match` header. */
  ifMatch?: string | undefined;
  /** The `version` of the body. */
  version?: number | undefined;
}

/**
 * Returns the strong ETag of an issue: the state that a client can overwrite, followed by a hash of the text.
 * `If-None-Match` compares the whole tag. `If-Match` compares only the first part, because a comment, a new username or
 * a sync changes the text but must not prevent the change of a title.
 */
export function etagOf(issue: IssueWithLinks, text: string): string {
  return `"${overwritable(issue)}-${shortHash(text)}"`;
}

// `version` covers title, description, priority, assignee and due date. A change of an issue cannot rename a label, so label
// names are excluded, and so is the link that the first sync adds.
function overwritable({ version, status, links, labels }: IssueWithLinks): string {
  const ids = labels.length === 0 ? [] : [labels.map(({ id }) => id).sort()];
  const others = links.filter(({ type }) => type !== 'external_issue').map(linkValue);
  return `${version}.${shortHash(JSON.stringify([status, others, ...ids]))}`;
}

export function shortHash(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 16);
}

/**
 * Returns a precondition that is true until a client changes a field of an issue, its status, links or labels.
 */
export function ifUnchanged(issue: IssueWithLinks): Precondition {
  return { ifMatch: `"${overwritable(issue)}-"` };
}

/**
 * Validates an `If-Match` header (RFC 9110 13.1.1): `*` or a list of entity tags. Throws a 400 problem for any other
 * text, because it can never match, and the client would retry without end.
 */
export function readIfMatch(header: string | undefined): string | undefined {
  if (header === undefined || header.trim() === '*') return header;
  if (entityTags(header).length > 0) return header;
  throw new ProblemError({
    status: 400,
    code: 'malformed_if_match',
    detail: 'If-Match must be * or ETags in double quotes, as the ETag header has them.',
  });
}

/** Throws a 428 problem if a precondition is required and missing (RFC 6585 3). */
export function assertConditional(precondition: Precondition, required: boolean): void {
  if (!required || precondition.ifMatch !== undefined || precondition.version !== undefined) return;
  throw new ProblemError({
    status: 428,
    code: 'precondition_required',
    detail: 'Send If-Match with the ETag of the issue, or its version in the body.',
  });
}

/** Throws a 412 problem if `If-Match` contains no ETag of the issue's current state (RFC 9110 13.1.1). */
export function assertMatches({ ifMatch }: Precondition, issue: IssueWithLinks): void {
  assertState(ifMatch, overwritable(issue), 'issue');
}

/** Throws a 412 problem if `If-Match` contains no ETag that begins with the current state, followed by a hyphen. */
export function assertState(ifMatch: string | undefined, state: string, name: 'issue' | 'comment'): void {
  if (ifMatch === undefined || ifMatch.trim() === '*') return;
  // Weak tags never match strongly (RFC 9110 8.8.3.2).
  if (entityTags(ifMatch).some((tag) => tag.startsWith(`"${state}-`))) return;
  throw preconditionFailed(`The ${name} has changed since then; read it again.`);
}

/** Throws a 412 problem if `If-Match` does not contain the ETag. For resources other than issues. */
export function assertNames(ifMatch: string | undefined, etag: string): void {
  if (ifMatch === undefined || ifMatch.trim() === '*' || entityTags(ifMatch).includes(etag)) return;
  throw preconditionFailed('The resource has changed since then; read it again.');
}

function preconditionFailed(detail: string): ProblemError {
  return new ProblemError({ status: 412, code: 'precondition_failed', detail });
}

/** Whether `If-None-Match` contains the ETag. Compares weakly (RFC 9110 13.1.2). */
export function isKnown(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch.trim() === '*') return true;
  return entityTags(ifNoneMatch).some((tag) => opaque(tag) === opaque(etag));
}

function opaque(etag: string): string {
  return etag.replace(/^W\//, '');
}

/** Returns a 304 response if the client knows the ETag of the response, and the response otherwise. */
export function unlessKnown<Response extends { status: 200; headers: { ETag: string } }>(
  { 'If-None-Match': known }: { 'If-None-Match'?: string | undefined },
  response: Response,
) {
  const headers = { ...response.headers, 'Cache-Control': 'private, no-cache' };
  return known !== undefined && isKnown(known, headers.ETag)
    ? { status: 304 as const, headers }
    : { ...response, headers };
}

const entityTag = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;

// Returns no tags for a header with anything besides a list of tags.
function entityTags(header: string): string[] {
  const elements = header.replace(entityTag, '""').split(',');
  const isList = elements.every((element) => ['', '""'].includes(element.trim()));
  return isList ? (header.match(entityTag) ?? []) : [];
}

export function isStale({ version }: Precondition, issue: { version: number }): boolean {
  return version !== undefined && version !== issue.version;
}

/** Returns a 409 problem that contains the current issue. */
export function versionConflict(issue: Issue): ProblemError {
  return new ProblemError({
    status: 409,
    code: 'version_conflict',
    detail: 'The issue has a newer version; `issue` is its current state.',
    members: { issue },
  });
}
