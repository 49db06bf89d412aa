import { type IssueEvent, issueEventFeedSchema } from '@tessera/contracts';
import type { StoredEvent } from '@tessera/service-kit';
import type { IssueUrls } from '../issue-core/issue-reference.ts';
import { defaultProjectId } from '../issue-core/project.ts';

const eventSchema = issueEventFeedSchema.shape.events.element;

/** Returns the id of the project that the issue of an event had then. */
export function projectOf({ data }: Pick<StoredEvent, 'data'>): string {
  return data.project_id === undefined ? defaultProjectId : String(data.project_id);
}

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
