import type { IssuePriority, IssueStatus } from '@tessera/contracts';
import { issuePriorities, issueStatuses } from '@tessera/contracts';
import { z } from 'zod';
import type { TrackerTransport } from './tracker-transport.ts';
import { stepForTwoStates, stepTowards } from './tracker-workflow.ts';

/** What our statuses and priorities are called in a Redmine, whose administrators choose the names. */
export interface RedmineWords {
  statuses: Readonly<Record<IssueStatus, string>>;
  priorities: Readonly<Record<IssuePriority, string>>;
}

/** The names of a Redmine with its default data. */
export const redmineWords: RedmineWords = {
  statuses: {
    OPEN: 'New',
    IN_PROGRESS: 'In Progress',
    RESOLVED: 'Resolved',
    CLOSED: 'Closed',
    REOPENED: 'Feedback',
  },
  priorities: { LOW: 'Low', MEDIUM: 'Normal', HIGH: 'High', URGENT: 'Urgent', CRITICAL: 'Immediate' },
};

const statusesSchema = z.object({
  issue_statuses: z.array(
    z.object({ id: z.int(), name: z.string(), is_closed: z.boolean().nullish().transform(Boolean) }),
  ),
});
const prioritiesSchema = z.object({
  issue_priorities: z.array(z.object({ id: z.int(), name: z.string() })),
});

const keptForMs = 10 * 60_000;

/** The ids behind a Redmine's names, asked for again every ten minutes. */
export class RedmineVocabulary {
  readonly #transport: TrackerTransport;
  readonly #words: RedmineWords;
  #statuses: z.output<typeof statusesSchema>['issue_statuses'] = [];
  #priorities: z.output<typeof prioritiesSchema>['issue_priorities'] = [];
  #loadedAt = Number.NEGATIVE_INFINITY;

  constructor(transport: TrackerTransport, words: RedmineWords) {
    this.#transport = transport;
    this.#words = words;
  }

  async load(signal: AbortSignal): Promise<void> {
    if (performance.now() - this.#loadedAt < keptForMs) return;
    const [{ issue_statuses: statuses }, { issue_priorities: priorities }] = await Promise.all([
      this.#transport.read({ method: 'GET', path: '/issue_statuses.json', signal }, statusesSchema),
      this.#transport.read(
        { method: 'GET', path: '/enumerations/issue_priorities.json', signal },
        prioritiesSchema,
      ),
    ]);
    this.#statuses = statuses;
    this.#priorities = priorities;
    this.#loadedAt = performance.now();
  }

  /** Where a Redmine has no status for what was reopened, it is in progress there. */
  stateOf(status: IssueStatus): string {
    const { statuses } = this.#words;
    const isKnown = status !== 'REOPENED' || this.statusId(statuses.REOPENED) !== undefined;
    return isKnown ? statuses[status] : statuses.IN_PROGRESS;
  }

  statusOf(state: string, local: IssueStatus): IssueStatus {
    // Two of our statuses may have one name there: the one that it is already comes first.
    const isNamedSo = (status: IssueStatus) => isSameName(this.stateOf(status), state);
    if (isNamedSo(local)) return local;
    const named = issueStatuses.find(isNamedSo);
    if (named !== undefined) return stepTowards(named, local);
    const isClosed = this.#statuses.some(({ name, is_closed }) => is_closed && isSameName(name, state));
    return stepForTwoStates(!isClosed, 'CLOSED', local);
  }

  priorityOf(name: string): IssuePriority | null {
    return issuePriorities.find((priority) => isSameName(this.#words.priorities[priority], name)) ?? null;
  }

  statusId(state: string): number | undefined {
    return this.#statuses.find(({ name }) => isSameName(name, state))?.id;
  }

  priorityId(priority: IssuePriority): number | undefined {
    return this.#priorities.find(({ name }) => isSameName(name, this.#words.priorities[priority]))?.id;
  }
}

function isSameName(left: string, right: string): boolean {
  return left.trim().toLowerCase() === right.trim().toLowerCase();
}
