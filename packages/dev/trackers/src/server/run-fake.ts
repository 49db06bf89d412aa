import { randomBytes } from 'node:crypto';
import type { FakeTracker, FakeTrackerOptions, IssueChanges, ProjectSettings } from '../fake-tracker.ts';
import type { Tracker } from '../tracker/tracker.ts';
import type { TrackerIssue } from '../tracker/tracker-issue.ts';
import { FakeServer } from './fake-server.ts';
import { Faults } from './faults.ts';
import { createProtocolApp, type Protocol } from './protocol-app.ts';
import type { Recording } from './recording.ts';

/** The default author of edits and comments by other users. */
export const MAINTAINER = 'maintainer';
export const BOT = 'tessera-bot';

export interface Project {
  readonly owner: string;
  readonly name: string;
}

/** Shared by the operations of a protocol. */
export interface FakeContext {
  readonly tracker: Tracker;
  readonly token: string;
  readonly project: Project;
  readonly settings: Readonly<ProjectSettings>;
  /** Known after the server listens. */
  readonly origin: () => string;
}

export interface FakeDefinition {
  readonly options: FakeTrackerOptions;
  readonly tracker: Tracker;
  readonly protocol: (context: FakeContext) => Protocol;
  /** The path after the origin in the base URL. */
  readonly urlPath: string;
  /** Applies an edit on the tracker's own pages. */
  readonly edit: (issue: TrackerIssue, changes: IssueChanges, by: string) => void;
}

export async function runFake(definition: FakeDefinition): Promise<FakeTracker> {
  const { options, tracker } = definition;
  const token = `fake-${randomBytes(12).toString('hex')}`;
  const requests: Recording[] = [];
  const faults = new Faults();
  const settings: ProjectSettings = { issuesEnabled: true, archived: false, isReadOnly: false };
  const protocol = definition.protocol({
    tracker,
    token,
    settings,
    project: projectOf(options.project ?? 'tessera/tracker'),
    origin: () => server.origin,
  });
  const app = createProtocolApp({ protocol, tracker, faults, requests, outage: () => server.outage });
  const server = new FakeServer(app, options.port ?? 0);
  await server.start();

  const present = (number: number): TrackerIssue => {
    const issue = tracker.find(number);
    if (issue?.presence.kind !== 'present') throw new RangeError(`there is no issue ${number}`);
    return issue;
  };
  return {
    url: server.origin + definition.urlPath,
    token,
    botLogin: BOT,
    requests,
    issues: () => tracker.visibleIssues(),
    createIssue: ({ title, body = '' }) =>
      tracker.create({ title, body, labels: [], author: MAINTAINER }).number,
    editIssue: (number, changes) => definition.edit(present(number), changes, MAINTAINER),
    labels: () => tracker.labels().map(({ name, color }) => ({ name, color })),
    createLabel: (name, color, { ofOwner } = { ofOwner: false }) => void tracker.label(name, color, ofOwner),
    addComment: (number, body, author = MAINTAINER) => tracker.comment(present(number), body, author).id,
    deleteIssue: (number) => {
      present(number).presence = { kind: 'deleted' };
    },
    setProject: (changes) => void Object.assign(settings, changes),
    fail: (fault) => faults.add(fault),
    clearFaults: () => faults.clear(),
    close: () => server.stop(),
    stop: () => server.stop(),
    restart: () => server.start(),
  };
}

function projectOf(path: string): Project {
  const at = path.lastIndexOf('/');
  if (at < 1 || at === path.length - 1) throw new RangeError(`project must be 'owner/name', not '${path}'`);
  return { owner: path.slice(0, at), name: path.slice(at + 1) };
}
