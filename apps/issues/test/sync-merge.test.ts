import { describe, expect, it } from '@jest/globals';
import { type IssueLabel, type IssueStatus, issueStatuses, type SyncedField } from '@tessera/contracts';
import fc from 'fast-check';
import { mayFollow } from '../src/issue-core/issue-status.ts';
import {
  type ConflictPolicy,
  type LocalIssue,
  type MergeBase,
  type MergeInput,
  mergeIssue,
} from '../src/tracker-sync/field-merge.ts';
import { addConflicts } from '../src/tracker-sync/sync-conflict.ts';
import { mergeLabels, verifyLabels } from '../src/tracker-sync/sync-merge.ts';
import {
  type ExternalTracker,
  isDone,
  type RemoteIssue,
  type RemoteLabel,
  stepForTwoStates,
  stepTowards,
} from '../src/trackers/external-tracker.ts';
import { remoteIssue } from './support/tracker-environment.ts';

const agreed: Required<MergeBase> = {
  title: 'base',
  description: 'base',
  priority: 'MEDIUM',
  status: { local: 'OPEN', remote: 'open' },
  labels: ['base'],
};
const localIssue: LocalIssue = {
  title: 'base',
  description: 'base',
  priority: 'MEDIUM',
  status: 'OPEN',
  wasResolved: false,
};
const twoStates: Pick<
  ExternalTracker,
  'hasPriority' | 'stateOf' | 'isReached' | 'statusOf' | 'meaningOf' | 'toFit'
> = {
  hasPriority: true,
  toFit: (text) => text,
  meaningOf: () => undefined,
  stateOf: ({ status }) => (isDone(status) ? 'closed' : 'open'),
  isReached: (state, wanted) => state === wanted,
  statusOf: (state, local) => stepForTwoStates(state === 'open', 'RESOLVED', local),
};

function merge(
  local: Partial<LocalIssue>,
  remote: Partial<RemoteIssue>,
  policy: ConflictPolicy = 'local',
  overrides: Partial<MergeInput> = {},
) {
  return mergeIssue({
    base: agreed,
    local: { ...localIssue, ...local },
    remote: { ...remoteIssue, ...remote },
    tracker: twoStates,
    policies: { title: policy, description: policy, priority: policy, status: policy },
    newest: () => 'remote',
    ...overrides,
  });
}

const fields = [
  { field: 'title', mine: 'mine', theirs: 'theirs' },
  { field: 'description', mine: 'mine', theirs: 'theirs' },
  { field: 'priority', mine: 'LOW', theirs: 'URGENT' },
] as const;

describe.each(fields)('the merge of $field', ({ field, mine, theirs }) => {
  it('does nothing without a change', () => {
    expect(merge({}, {})).toEqual({ push: {}, pull: {}, conflicts: [], base: agreed });
  });

  it('pushes a local change and keeps the base until the change is read back', () => {
    expect(merge({ [field]: mine }, {})).toEqual({
      push: { [field]: mine },
      pull: {},
      conflicts: [],
      base: agreed,
    });
  });

  it('pulls a remote change', () => {
    expect(merge({}, { [field]: theirs })).toEqual({
      push: {},
      pull: { [field]: theirs },
      conflicts: [],
      base: { ...agreed, [field]: theirs },
    });
  });

  it('updates the base when both sides have the same value', () => {
    expect(merge({ [field]: mine }, { [field]: mine })).toEqual({
      push: {},
      pull: {},
      conflicts: [],
      base: { ...agreed, [field]: mine },
    });
  });

  it.each([
    ['local', 'local', { push: { [field]: mine }, pull: {}, base: theirs }],
    ['remote', 'remote', { push: {}, pull: { [field]: theirs }, base: theirs }],
    ['newest', 'remote', { push: {}, pull: { [field]: theirs }, base: theirs }],
    ['manual', null, { push: {}, pull: {}, base: agreed[field] }],
  ] as const)('applies the policy %s when both sides have changed', (policy, kept, { push, pull, base }) => {
    expect(merge({ [field]: mine }, { [field]: theirs }, policy)).toEqual({
      push,
      pull,
      conflicts: [{ field, reason: 'both_changed', local: mine, remote: theirs, base: agreed[field], kept }],
      base: { ...agreed, [field]: base },
    });
  });

  it('compares the times of the changes for the policy newest', () => {
    const asked: SyncedField[] = [];
    const newest = (name: SyncedField) => {
      asked.push(name);
      return 'local' as const;
    };
    expect(merge({ [field]: mine }, { [field]: theirs }, 'newest', { newest }).push).toEqual({
      [field]: mine,
    });
    expect(asked).toEqual([field]);
  });

  it('leaves the conflict open for the policy newest if the time of the remote change is unknown', () => {
    const { conflicts, ...merged } = merge({ [field]: mine }, { [field]: theirs }, 'newest', {
      newest: () => null,
    });
    expect(merged).toEqual({ push: {}, pull: {}, base: agreed });
    expect(conflicts).toMatchObject([{ field, reason: 'both_changed', kept: null }]);
  });

  it('reports a clash for different values without a base', () => {
    const first = merge({ [field]: mine }, { [field]: theirs }, 'local', { base: {} });
    expect(first.conflicts).toMatchObject([{ field, base: null, kept: 'local' }]);
    expect(first.push).toEqual({ [field]: mine });
  });
});

describe('the merge of texts', () => {
  it('ignores line endings and trailing blanks', () => {
    expect(merge({ description: 'one\r\ntwo  \n' }, { description: 'one\ntwo' }).base.description).toBe(
      'one\ntwo',
    );
  });

  it.each([
    ['title', 'x'.repeat(256)],
    ['title', ''],
    ['description', 'x'.repeat(65_001)],
  ] as const)('keeps the local %s when the remote one cannot be stored', (field, text) => {
    const { push, pull, conflicts, base } = merge({}, { [field]: text }, 'remote');
    expect({ push, pull, base }).toEqual({ push: {}, pull: {}, base: agreed });
    expect(conflicts).toMatchObject([{ field, reason: 'not_storable', remote: text, kept: 'local' }]);
  });

  it('ignores a remote priority without a local equivalent', () => {
    expect(merge({ priority: 'HIGH' }, { priority: null })).toMatchObject({
      push: {},
      pull: {},
      conflicts: [],
    });
  });
});

describe('the merge of the status', () => {
  it('ignores a change between two statuses with the same remote state', () => {
    const { push, pull, base } = merge({ status: 'IN_PROGRESS' }, {});
    expect({ push, pull }).toEqual({ push: {}, pull: {} });
    expect(base.status).toEqual({ local: 'IN_PROGRESS', remote: 'open' });
  });

  it('pushes a change and keeps the base until the change is read back', () => {
    expect(merge({ status: 'CLOSED' }, {})).toMatchObject({ push: { state: 'closed' }, pull: {} });
    expect(merge({ status: 'CLOSED' }, {}).base.status).toEqual(agreed.status);
  });

  it('pulls a change as a step of the workflow', () => {
    const { pull, base } = merge({}, { state: 'closed' });
    expect(pull).toEqual({ status: 'RESOLVED' });
    expect(base.status).toEqual({ local: 'RESOLVED', remote: 'closed' });
  });

  it('pushes nothing when the tracker has reached an equivalent state', () => {
    const base: MergeBase = { ...agreed, status: { local: 'OPEN', remote: 'open' } };
    const tracker = { ...twoStates, stateOf: () => 'closed:completed', isReached: () => true };
    const closed = { state: 'closed:not_planned' };
    const merged = merge({ status: 'RESOLVED' }, closed, 'local', { base, tracker });
    expect(merged).toMatchObject({ push: {}, pull: {}, conflicts: [] });
    expect(merged.base.status).toEqual({ local: 'RESOLVED', remote: 'closed:not_planned' });
  });

  it('resolves a clash by the policy', () => {
    const base: MergeBase = { ...agreed, status: { local: 'RESOLVED', remote: 'closed' } };
    const both = { local: { status: 'REOPENED' as const }, remote: { state: 'reopened elsewhere' } };
    const tracker = { ...twoStates, statusOf: () => 'REOPENED' as const, stateOf: () => 'open' };
    const clash = (policy: ConflictPolicy) => merge(both.local, both.remote, policy, { base, tracker });
    expect(clash('local')).toMatchObject({ push: { state: 'open' }, conflicts: [{ kept: 'local' }] });
    expect(clash('local').base.status).toEqual({ local: null, remote: 'reopened elsewhere' });
    expect(clash('remote')).toMatchObject({ push: {}, pull: {}, conflicts: [{ kept: 'remote' }] });
    expect(clash('manual')).toMatchObject({ push: {}, pull: {}, base, conflicts: [{ kept: null }] });
  });
});

describe('the step towards a status of the tracker', () => {
  const pairs = issueStatuses.flatMap((from) => issueStatuses.map((to) => [from, to] as const));

  it.each(pairs)('from %s towards %s is part of the workflow, or no step', (from, wanted) => {
    const next = stepTowards(wanted, from);
    expect(next === from || mayFollow(from, next)).toBe(true);
    if (mayFollow(from, wanted)) expect(next).toBe(wanted);
  });

  it.each([
    ['OPEN', false, 'RESOLVED', 'RESOLVED'],
    ['OPEN', false, 'CLOSED', 'CLOSED'],
    ['IN_PROGRESS', true, 'RESOLVED', 'IN_PROGRESS'],
    ['RESOLVED', true, 'RESOLVED', 'REOPENED'],
    ['CLOSED', true, 'RESOLVED', 'REOPENED'],
    ['CLOSED', false, 'RESOLVED', 'CLOSED'],
    ['RESOLVED', false, 'CLOSED', 'CLOSED'],
    ['REOPENED', true, 'CLOSED', 'REOPENED'],
  ] as const)(
    'from %s with a tracker of two states (open: %s, closed means %s) is %s',
    (local, isOpen, whenClosed, next) => {
      expect(stepForTwoStates(isOpen, whenClosed, local as IssueStatus)).toBe(next);
    },
  );
});

describe('the stored conflicts', () => {
  const conflict = (remote: string) => ({
    ...({ field: 'description', reason: 'overwritten', local: 'mine', base: null, kept: 'local' } as const),
    remote,
  });
  const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

  it('are the newest conflicts with at most 800 KiB in total', () => {
    const found = Array.from({ length: 12 }, (_, index) => conflict(`${index} ${'🖨'.repeat(60_000)}`));
    const { conflicts } = addConflicts([], found);
    expect(conflicts.map(({ remote }) => remote)).toEqual(found.slice(-3).map(({ remote }) => remote));
    expect(bytes(conflicts)).toBeLessThanOrEqual(800 * 1024);
  });

  it("contain a cut text if the tracker's text exceeds the limit of issues", () => {
    const huge = '\u0001'.repeat(1_000_000);
    const { conflicts, entries } = addConflicts([], [conflict(huge)]);
    expect(conflicts).toHaveLength(1);
    expect(bytes(conflicts)).toBeLessThan(257 * 1024);
    expect(bytes(entries)).toBeLessThan(257 * 1024);
    expect(conflicts[0]?.remote).toMatch(/\[cut: the whole text is in the external tracker\]$/);
    // The same text is the same conflict at the next sync.
    expect(addConflicts(conflicts, [conflict(huge)])).toEqual({ conflicts, entries: [] });
  });
});

describe('the merge of labels', () => {
  const label = (key: string): IssueLabel => ({
    id: `id of ${key}`,
    name: key.toUpperCase(),
    color: '#000000',
  });
  const remoteLabel = (name: string): RemoteLabel => ({ ref: name, name, color: null });
  const keys = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'));
  const sort = (names: readonly string[]) => [...names].sort();
  const keysOf = (labels: readonly { name: string }[]) => sort(labels.map(({ name }) => name.toLowerCase()));

  it('applies what each side added and removed, pushes no more, and ends in one sync', () => {
    const property = fc.property(keys, keys, keys, (base, here, there) => {
      const all = [...new Set([...base, ...here, ...there])];
      const known = new Map(all.map((key) => [key, label(key)]));
      const tracker = { holds: () => true };
      const merge = (agreed: readonly string[], local: readonly IssueLabel[], names: readonly string[]) =>
        mergeLabels({ base: agreed, local, remote: names.map(remoteLabel), known, tracker });
      const first = merge(base, here.map(label), there);
      const expected = all.filter((key) =>
        base.includes(key) ? here.includes(key) && there.includes(key) : true,
      );
      expect(keysOf(first.local)).toEqual(sort(expected));
      const { add, remove } = first.push;
      const pushed = [...there, ...keysOf(add)].filter((key) => !keysOf(remove).includes(key));
      expect(sort(pushed)).toEqual(sort(expected));
      expect(first.isPulled).toBe(sort(here).join() !== sort(expected).join());
      const { base: agreed } = verifyLabels(first, pushed.map(remoteLabel));
      expect(sort(agreed)).toEqual(sort(expected));
      // This also holds if the push had no effect.
      for (const [next, names] of [
        [agreed, pushed],
        [verifyLabels(first, there.map(remoteLabel)).base, there],
        [first.base, there],
      ] as const) {
        const second = merge(next, first.local, names);
        expect(keysOf(second.local)).toEqual(sort(expected));
        if (names === pushed) expect(second.push).toEqual({ add: [], remove: [] });
        else expect(second.push).toEqual(first.push);
      }
    });
    fc.assert(property);
  });
});
