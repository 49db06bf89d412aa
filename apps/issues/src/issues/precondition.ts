import type { Issue } from '@tessera/contracts';
import { ProblemError } from '@tessera/service-kit';
import { etagOf } from './issue.ts';

/** What a client says its change is based on. */
export interface Precondition {
  /** The `If-Match` header. */
  ifMatch?: string | undefined;
  /** The `version` of the body. */
  version?: number | undefined;
}

interface Versioned {
  version: number;
  rev: number;
}

/** Throws a 428 problem where a precondition is demanded and there is none (RFC 6585 3). */
export function assertConditional(precondition: Precondition, required: boolean): void {
  if (!required || precondition.ifMatch !== undefined || precondition.version !== undefined) return;
  throw new ProblemError({
    status: 428,
    code: 'precondition_required',
    detail: 'Send If-Match with the ETag of the issue, or its version in the body.',
  });
}

/** Throws a 412 problem where the issue is not any more what `If-Match` names (RFC 9110 13.1.1). */
export function assertMatches({ ifMatch }: Precondition, issue: Versioned): void {
  if (ifMatch === undefined || matches(ifMatch, etagOf(issue), 'strong')) return;
  throw new ProblemError({
    status: 412,
    code: 'precondition_failed',
    detail: 'The issue has changed since; read it again.',
  });
}

export function isStale({ version }: Precondition, issue: Versioned): boolean {
  return version !== undefined && version !== issue.version;
}

/** 409 with the issue as it is now. */
export function versionConflict(issue: Issue): ProblemError {
  return new ProblemError({
    status: 409,
    code: 'version_conflict',
    detail: 'The issue has another version by now; `issue` is what it is.',
    members: { issue },
  });
}

/** Whether a list of entity tags names this one. Weak tags never match strongly (RFC 9110 8.8.3.2). */
export function matches(header: string, etag: string, comparison: 'strong' | 'weak'): boolean {
  if (header.trim() === '*') return true;
  const tags = header.match(/(?:W\/)?"[^"]*"/g) ?? [];
  return tags.some((tag) => (comparison === 'weak' ? tag.replace(/^W\//, '') : tag) === etag);
}
