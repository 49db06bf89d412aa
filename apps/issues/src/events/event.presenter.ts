import { type IssueEvent, issueEventFeedSchema } from '@tessera/contracts';
import type { StoredEvent } from '@tessera/service-kit';
import type { IssueUrls } from '../issue-core/issue-reference.ts';

const eventSchema = issueEventFeedSchema.shape.events.element;

/** Converts a stored event to its representation; undefined for a type that only a later release knows. */
export function presentEvent(event: StoredEvent, urls: Pick<IssueUrls, 'keyOf'>): IssueEvent | undefined {
  const { number, project_key: projectKey, ...details } = event.data;
  return eventSchema.safeParse({
    id: event.id,
    type: event.type,
    timestamp: event.at.toISOString(),
    data: {
      issue_id: event.subjectId,
      issue_key: urls.keyOf({
        number: Number(number),
        projectKey: projectKey === undefined ? null : String(projectKey),
      }),
      ...details,
    },
  }).data;
}
