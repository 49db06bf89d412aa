import type { Activity } from '@tessera/contracts';
import type { ActivityLine } from './activity.repository.ts';

export function presentActivity(line: ActivityLine): Activity {
  return {
    id: line.id,
    issue_id: line.issueId,
    kind: line.kind,
    field: line.field,
    old: line.old,
    new: line.new,
    actor: line.actor,
    origin: line.origin,
    at: line.at.toISOString(),
    request_id: line.requestId,
  };
}
