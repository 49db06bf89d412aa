import type { Activity } from '@tessera/contracts';
import { presentPerson } from '../issue-core/person.ts';
import type { ActivityLine } from './activity.repository.ts';

/** Converts a history entry to its representation in the API. */
export function presentActivity(line: ActivityLine): Activity {
  return {
    id: line.id,
    issue_id: line.issueId,
    kind: line.kind,
    field: line.field,
    old: presentValue(line, line.old, line.oldName),
    new: presentValue(line, line.new, line.newName),
    actor: presentPerson(line.actorId, line.actorName),
    origin: line.origin,
    at: line.at.toISOString(),
    request_id: line.requestId,
  };
}

// The stored value of an assignee is an id. The API shows the person.
function presentValue({ field }: ActivityLine, value: unknown, name: string | null): unknown {
  return field === 'assignee' && typeof value === 'string' ? presentPerson(value, name) : value;
}
