import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { type IssuePriority, type IssueStatus, issueStatuses, type SyncConflict } from '@tessera/contracts';
import { createLogger, ProblemError } from '@tessera/service-kit';
import { mayFollow } from '../src/issue-core/issue-status.ts';
import {
  type ConflictPolicy,
  isRepresented,
  type MergeBase,
  mergeIssue,
  stepsTowards,
} from '../src/tracker-sync/field-merge.ts';
import { planDecision } from '../src/tracker-sync/sync-binding.service.ts';
import { addConflicts } from '../src/tracker-sync/sync-conflict.ts';
import { verifyPush } from '../src/tracker-sync/sync-merge.ts';
import type { ExternalTracker, LocalState, RemoteIssue } from '../src/trackers/external-tracker.ts';
import { GiteaTracker } from '../src/trackers/gitea.tracker.ts';
import { GitHubTracker } from '../src/trackers/github.tracker.ts';
import { GitLabTracker } from '../src/trackers/gitlab.tracker.ts';
import { RedmineTracker } from '../src/trackers/redmine.tracker.ts';
import { TrackerClock } from '../src/trackers/tracker-clock.ts';
import { remoteIssue, trackerConfig } from './support/tracker-environment.ts';

const context = {
  clock: new TrackerClock(),
  logger: createLogger({ service: 'issues', level: 'silent' }),
  limit: { remainingSeconds: async () => 0, extend: async () => undefined },
};

// `Rejected` and `Waiting` belong to no status.
const redmineStates = ['New', 'In Progress', 'Resolved', 'Feedback', 'Closed', 'Rejected', 'Waiting'];

/** Returns a Redmine client that has read the statuses. */
async function startRedmine(): Promise<RedmineTracker> {
  const statuses = redmineStates.map((name, id) => ({
    id,
    name,
    is_closed: name === 'Closed' || name === 'Rejected',
  }));
  const documents: Record<string, object> = {
    '/projects/website.json': { project: { id: 1, status: 1 } },
    '/issue_statuses.json': { issue_statuses: statuses },
    '/enumerations/issue_priorities.json': { issue_priorities: [{ id: 2, name: 'Normal' }] },
  };
  const server = createServer(({ url = '/' }, response) => {
    const body = documents[url] ?? { issues: [] };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const tracker = new RedmineTracker(
    { ...trackerConfig, provider: 'redmine', project: 'website', url: `http://127.0.0.1:${port}` },
    context,
  );
  await tracker.findByMarker('marker', new Date(), new AbortController().signal);
  server.close().closeAllConnections();
  return tracker;
}

const values = { title: 'Title', description: 'Text', priority: 'MEDIUM' } as const;
type Values = Pick<RemoteIssue, 'title' | 'description'> & { priority: IssuePriority };

function remoteWith(value: Partial<RemoteIssue>): RemoteIssue {
  return { ...remoteIssue, ...values, state: 'New', ...value };
}

interface Sides {
  local: LocalState;
  remote: string;
  base: MergeBase;
  conflicts: SyncConflict[];
}

/** Changes the status by allowed steps only. */
function walk(local: LocalState, steps: readonly IssueStatus[]): LocalState {
  return steps.reduce(({ status, wasResolved }, next) => {
    expect([status, next, mayFollow(status, next)]).toEqual([status, next, true]);
    return { status: next, wasResolved: next === 'RESOLVED' || (next === 'CLOSED' && wasResolved) };
  }, local);
}

function sync(sides: Sides, tracker: ExternalTracker, policy: ConflictPolicy): Sides {
  const before = remoteWith({ state: sides.remote });
  const local = { ...values, ...sides.local };
  const merged = mergeIssue({
    base: sides.base,
    local,
    remote: before,
    tracker,
    policies: { title: policy, description: policy, priority: policy, status: policy },
    newest: () => null,
  });
  const { conflicts } = addConflicts(sides.conflicts, merged.conflicts);
  const { state } = merged.push;
  if (state !== undefined) {
    const { base } = verifyPush(merged, local, { before, after: remoteWith({ state }) });
    return { local: sides.local, remote: state, base, conflicts };
  }
  const steps =
    merged.pull.status === undefined ? [] : stepsTowards(before.state, sides.local.status, tracker);
  return { local: walk(sides.local, steps), remote: before.state, base: merged.base, conflicts };
}

/** Returns the sides after a sync that found a status conflict, for all statuses and states. */
function* clashes(tracker: ExternalTracker, states: readonly string[], policy: ConflictPolicy) {
  const locals = issueStatuses.flatMap((status): LocalState[] => [
    { status, wasResolved: status === 'RESOLVED' },
    ...(status === 'CLOSED' ? [{ status, wasResolved: true }] : []),
  ]);
  for (const agreed of locals) {
    const base: MergeBase = { ...values, status: { local: agreed.status, remote: tracker.stateOf(agreed) } };
    for (const local of locals) {
      for (const remote of states) {
        const clashed = sync({ local, remote, base, conflicts: [] }, tracker, policy);
        const [conflict] = clashed.conflicts;
        if (conflict?.reason === 'both_changed') yield { clashed, conflict, local };
      }
    }
  }
}

/** Resolves a conflict; returns undefined if the decision is refused. */
function decide(sides: Sides, conflict: SyncConflict, keep: 'local' | 'remote', tracker: ExternalTracker) {
  try {
    const { base, steps } = planDecision(conflict, keep, { base: sides.base, local: sides.local, tracker });
    return { ...sides, local: walk(sides.local, steps), base, conflicts: [] };
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    expect([error.status, error.code]).toEqual([
      409,
      keep === 'remote' ? 'not_storable' : 'illegal_transition',
    ]);
    return undefined;
  }
}

describe.each([
  [
    'redmine',
    startRedmine,
    redmineStates,
    {
      remote: [
        'CLOSED against New',
        'CLOSED against Resolved',
        'IN_PROGRESS against Feedback',
        'OPEN against Feedback',
        'REOPENED against New',
        'RESOLVED against New',
      ],
      local: [
        'CLOSED against OPEN',
        'CLOSED against RESOLVED',
        'IN_PROGRESS against REOPENED',
        'RESOLVED against OPEN',
      ],
    },
  ],
  [
    'github',
    async () => new GitHubTracker({ ...trackerConfig, provider: 'github' }, context),
    ['open', 'closed:completed', 'closed:not_planned', 'closed:duplicate'],
    { remote: [], local: ['CLOSED against OPEN', 'RESOLVED against OPEN'] },
  ],
  [
    'gitlab',
    async () => new GitLabTracker({ ...trackerConfig, provider: 'gitlab' }, context),
    ['opened', 'closed'],
    { remote: [], local: ['RESOLVED against OPEN'] },
  ],
  [
    'gitea',
    async () => new GiteaTracker({ ...trackerConfig, provider: 'gitea' }, context),
    ['open', 'closed'],
    { remote: [], local: ['RESOLVED against OPEN'] },
  ],
] as const)('the decision of a status conflict with %s', (_, start, states, unreachable) => {
  it.each(['local', 'remote', 'manual'] as const)(
    'gives both sides the chosen value, or is refused (policy %s)',
    async (policy) => {
      const tracker = await start();
      const refused = { local: new Set<string>(), remote: new Set<string>() };
      let count = 0;
      for (const { clashed, conflict, local } of clashes(tracker, states, policy)) {
        for (const keep of ['local', 'remote'] as const) {
          count += 1;
          const pair = `${clashed.local.status} against ${keep === 'local' ? local.status : conflict.remote}`;
          const decided = decide(clashed, conflict, keep, tracker);
          if (decided === undefined) {
            refused[keep].add(pair);
            continue;
          }
          const settled = sync(decided, tracker, policy);
          const again = sync(settled, tracker, policy);
          expect({ pair, sides: again }).toEqual({ pair, sides: settled });
          if (policy === keep && policy === 'remote') {
            // The sync has followed the tracker as far as the workflow allows.
            const isHeld = isRepresented(conflict.remote, settled.local, tracker);
            expect(settled.conflicts).toMatchObject(isHeld ? [] : [{ reason: 'not_representable' }]);
          } else {
            expect({ pair, conflicts: settled.conflicts }).toEqual({ pair, conflicts: [] });
          }
          if (keep === 'remote')
            expect({ pair, remote: settled.remote }).toEqual({ pair, remote: conflict.remote });
          else expect({ pair, ...settled.local }).toMatchObject({ pair, status: local.status });
          const wanted = keep === 'remote' ? conflict.remote : tracker.stateOf(settled.local);
          expect({ pair, reached: tracker.isReached(settled.remote, wanted) }).toEqual({
            pair,
            reached: true,
          });
        }
      }
      expect(count).toBeGreaterThan(0);
      expect([...refused.remote].sort()).toEqual(policy === 'remote' ? [] : unreachable.remote);
      expect([...refused.local].sort()).toEqual(policy === 'remote' ? unreachable.local : []);
    },
  );
});

const sides = ['local', 'remote'] as const;

describe.each([
  { field: 'title', mine: 'Ours', theirs: 'Theirs' },
  // GitHub's limit cuts this text.
  { field: 'description', mine: '@someone '.repeat(7_000).trim(), theirs: 'Their text' },
  { field: 'priority', mine: 'LOW', theirs: 'URGENT' },
] as const)('the decision of a conflict of the $field', ({ field, mine, theirs }) => {
  const github = Object.assign(new GitHubTracker({ ...trackerConfig, provider: 'github' }, context), {
    hasPriority: true,
  });
  const state = { status: 'OPEN', wasResolved: false } as const;
  const base: MergeBase = { ...values, status: { local: 'OPEN', remote: 'open' } };

  const syncValues = (
    { base, conflicts, ...both }: { local: Values; remote: Values } & Pick<Sides, 'base' | 'conflicts'>,
    policy: ConflictPolicy,
  ) => {
    const local = { ...state, ...both.local };
    const before = remoteWith({ ...both.remote, state: 'open' });
    const policies = { title: policy, description: policy, priority: policy, status: policy };
    const newest = () => 'remote' as const;
    const merged = mergeIssue({ base, local, remote: before, tracker: github, policies, newest });
    const remote = { ...both.remote, ...merged.push };
    const { base: verified } = verifyPush(merged, local, {
      before,
      after: remoteWith({ ...before, ...remote }),
    });
    return {
      local: { ...both.local, ...merged.pull },
      remote,
      base: verified,
      conflicts: addConflicts(conflicts, merged.conflicts).conflicts,
    };
  };
  const fitted = field === 'description' ? github.toFit(mine) : mine;
  const ours = { ...values, [field]: mine };
  const ourFitted = { ...values, [field]: fitted };
  const other = { ...values, [field]: theirs };
  const expectHeld = (
    before: Parameters<typeof syncValues>[0],
    keep: 'local' | 'remote',
    policy: ConflictPolicy,
  ) => {
    const [conflict] = before.conflicts;
    if (conflict === undefined) throw new Error('no conflict');
    const plan = planDecision(conflict, keep, { base: before.base, local: state, tracker: github });
    const decided = {
      ...before,
      base: plan.base,
      local: { ...before.local, ...plan.fields } as Values,
      conflicts: [],
    };
    const synced = syncValues(decided, policy);
    expect(synced).toMatchObject(
      keep === 'local'
        ? { local: ours, remote: ourFitted, conflicts: [] }
        : { local: other, remote: other, conflicts: [] },
    );
    expect(syncValues(synced, policy)).toEqual(synced);
  };

  it.each(
    (['local', 'remote', 'newest', 'manual'] as const).flatMap((policy) =>
      sides.map((keep) => [policy, keep] as const),
    ),
  )('gives both sides the chosen value if both changed (policy %s, keep %s)', (policy, keep) => {
    const clashed = syncValues({ local: ours, remote: other, base, conflicts: [] }, policy);
    expect(clashed.conflicts).toMatchObject([{ field, reason: 'both_changed' }]);
    expectHeld(clashed, keep, policy);
  });

  const conflict = {
    id: '01980c5e-0000-7000-8000-000000000001',
    at: new Date(0).toISOString(),
    field,
    local: mine,
    remote: theirs,
    base: values[field],
  };

  it.each(sides)('gives both sides the chosen value of an overwritten one (keep %s)', (keep) => {
    const conflicts: SyncConflict[] = [{ ...conflict, reason: 'overwritten', kept: 'local' }];
    const pushed = { local: ours, remote: ourFitted, base: { ...base, [field]: fitted }, conflicts };
    expectHeld(pushed, keep, 'local');
  });

  it.each(sides)('gives both sides the chosen value of one that was not applied (keep %s)', (keep) => {
    const conflicts: SyncConflict[] = [{ ...conflict, reason: 'not_applied', kept: null }];
    expectHeld({ local: ours, remote: other, base: { ...base, [field]: theirs }, conflicts }, keep, 'local');
  });
});
