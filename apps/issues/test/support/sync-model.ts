import { setTimeout as pause } from 'node:timers/promises';
import { type Activity, type Issue, issuePriorities, issueSchema, issueStatuses } from '@tessera/contracts';
import { randomNumbers } from '@tessera/stack/random';
import type { Response } from 'supertest';
import {
  canonicalText,
  canonicalTitle,
  issueMarker,
  markedComment,
} from '../../src/trackers/tracker-text.ts';
import type { ProxyFault } from './faulty-proxy.ts';
import { issuePath, issuesPath } from './issues.ts';
import type { IssuesService } from './issues-service.ts';
import type { TestPerson } from './people.ts';

/** A journal entry of Redmine. */
interface Journal {
  user: { id: number };
  notes: string | null;
  private_notes: boolean;
  details: { property: string; name: string; old_value: string | null; new_value: string | null }[];
}

interface RedmineIssue {
  id: number;
  subject: string;
  description: string | null;
  status: { name: string };
  priority: { name: string };
  journals: Journal[];
}

/** The system under test. */
export interface ModelledSystem {
  replicas: () => readonly IssuesService[];
  /** Kills a replica and starts another one in its place asynchronously. */
  restart: (index: number) => void;
  /** Suspends Redmine for `ms` milliseconds. */
  suspendRedmine: (ms: number) => void;
  /** Sends a request to Redmine as one of its users, bypassing the proxy. */
  redmine: <Body>(method: 'get' | 'put', path: string, body?: object) => Promise<Body>;
  /** Returns the known remote ids by local id. */
  remoteIds: () => Promise<ReadonlyMap<string, string>>;
  /** The number of issues whose sync is due, is running or has failed. */
  unsettled: () => Promise<number>;
  /** The number of creations that Redmine processed later than the service expects. */
  lateCreations: () => number;
  /** Returns the acting person. Changes to another person when the token expires. */
  person: () => Promise<TestPerson>;
  /** The id of the service's account in Redmine. */
  accountId: number;
  project: string;
}

const priorityNames = ['Low', 'Normal', 'High', 'Urgent', 'Immediate'];

/** Maximum number of attempts of a request. Both replicas can be starting. */
const attemptsMax = 300;

/** Performs random edits on both sides with random faults between them, and checks the invariants afterwards. */
export class SyncModel {
  readonly #system: ModelledSystem;
  readonly #random: () => number;
  readonly #ids: string[] = [];
  readonly #typedHere = new Set<string>();
  readonly #privateNotes = new Set<string>();
  readonly #tally = new Map<string, number>();
  #number = 0;
  #repeatedCreations = 0;
  #isFaulty = true;
  #outageUntil = 0;

  constructor(system: ModelledSystem, seed: number) {
    this.#system = system;
    this.#random = randomNumbers(seed);
  }

  /** The number of occurrences of each action and each fault. */
  get tally(): Record<string, number> {
    return Object.fromEntries([...this.#tally].sort());
  }

  /** Returns the fault of a request to Redmine. About one request in eight has a fault. */
  faultOf({ method, path }: { method: string; path: string }): ProxyFault | undefined {
    if (!this.#isFaulty) return undefined;
    if (Date.now() < this.#outageUntil) return { kind: 'drop' };
    if (this.#random() > 0.125) return undefined;
    const [, id] = method === 'GET' ? (/^\/issues\/(\d+)\.json$/.exec(path) ?? []) : [];
    const ms = Math.floor(this.#random() * 800);
    const faults: ProxyFault[] = [
      { kind: 'delay', ms },
      { kind: 'delay_response', ms },
      { kind: 'drop' },
      { kind: 'drop_response' },
      { kind: 'double' },
      // Edits between the read and the write of a sync.
      ...(id === undefined ? [] : [this.#interference(id), this.#interference(id), this.#interference(id)]),
    ];
    const fault = this.#one(faults);
    this.#count(`fault ${fault.kind}`);
    if (fault.kind === 'double' && method === 'POST') this.#repeatedCreations += 1;
    return fault;
  }

  async createIssues(count: number): Promise<void> {
    while (this.#ids.length < count) {
      const title = this.#text('Title');
      const description = this.#text('Text\nof');
      const { body } = await this.#here('post', issuesPath, { title, description });
      this.#ids.push(issueSchema.parse(body).id);
    }
  }

  /** Performs steps, several at a time. */
  async run(steps: number): Promise<void> {
    let taken = 0;
    const takeSteps = async () => {
      for (; taken < steps; taken += 1) await this.#step();
    };
    await Promise.all(Array.from({ length: 4 }, takeSteps));
  }

  /**
   * Ends the faults, and waits until no sync is due, running or failed. Returns the number of remaining syncs after
   * `timeoutMs`.
   */
  async settle(timeoutMs: number): Promise<number> {
    this.#isFaulty = false;
    const deadline = Date.now() + timeoutMs;
    for (let quiet = 0; ; ) {
      const unsettled = await this.#system.unsettled();
      quiet = unsettled === 0 ? quiet + 1 : 0;
      if (quiet === 10 || Date.now() > deadline) return unsettled;
      await pause(500);
    }
  }

  /** Returns a description of each violated invariant. */
  async problems(): Promise<string[]> {
    const remoteIds = await this.#system.remoteIds();
    const marked = await this.#markedIssues();
    const problems: string[] = [];
    for (const id of this.#ids) {
      const remoteId = remoteIds.get(id);
      const issue = issueSchema.parse((await this.#here('get', issuePath({ id }))).body);
      if (remoteId === undefined) problems.push(`${issue.key} has no remote issue`);
      else
        problems.push(
          ...(await this.#compare(issue, remoteId, marked)).map((text) => `${issue.key}: ${text}`),
        );
    }
    const duplicates = marked.total - this.#ids.length;
    if (duplicates < 0 || duplicates > this.#system.lateCreations() + this.#repeatedCreations)
      problems.push(`Redmine has ${marked.total} issues`);
    return problems;
  }

  async #step(): Promise<void> {
    const id = this.#one(this.#ids);
    const remoteId = (await this.#system.remoteIds()).get(id);
    const dice = this.#random();
    if (dice < 0.3) await this.#editHere(id);
    else if (dice < 0.7 && remoteId !== undefined) await this.#editThere(remoteId);
    else if (dice < 0.9) await this.#sync(id);
    else if (dice < 0.94) {
      this.#count('SIGSTOP of Redmine');
      this.#system.suspendRedmine(200 + this.#random() * 1_300);
    } else if (dice < 0.97) {
      this.#count('SIGKILL of a replica');
      this.#system.restart(this.#random() < 0.5 ? 0 : 1);
    } else if (dice < 0.975) {
      this.#count('outage');
      this.#outageUntil = Date.now() + 2_000 + this.#random() * 4_000;
    } else await pause(this.#random() * 1_000);
  }

  async #editHere(id: string): Promise<void> {
    this.#count('edit here');
    const dice = this.#random();
    if (dice < 0.25) await this.#put(id, { title: this.#text('Title') });
    else if (dice < 0.5) await this.#put(id, { description: this.#text('Text\nof') });
    else if (dice < 0.6) await this.#put(id, { priority: this.#one(issuePriorities) });
    else if (dice < 0.75) {
      const status = this.#one(issueStatuses);
      // The response is 409 if the workflow does not allow the step.
      await this.#here('post', issuePath({ id }, 'status/'), { status }, [200, 409]);
    } else await this.#here('post', issuePath({ id }, 'comments/'), { body: this.#text('Comment') }, [201]);
  }

  async #put(id: string, change: object): Promise<void> {
    const { status } = await this.#here('put', issuePath({ id }), change);
    if (status === 200) for (const text of Object.values(change)) this.#typedHere.add(text);
  }

  async #editThere(remoteId: string): Promise<void> {
    this.#count('edit there');
    const dice = this.#random();
    if (dice < 0.25) await this.#change(remoteId, { subject: this.#text('Title') });
    else if (dice < 0.5) await this.#change(remoteId, { description: this.#text('Text\r\nof') });
    else if (dice < 0.6) await this.#change(remoteId, { priority_id: 1 + Math.floor(this.#random() * 5) });
    else if (dice < 0.75) await this.#change(remoteId, { status_id: 1 + Math.floor(this.#random() * 6) });
    else if (dice < 0.95) await this.#change(remoteId, { notes: this.#text('Note') });
    else {
      const notes = this.#text('Private');
      this.#privateNotes.add(notes);
      await this.#change(remoteId, { notes, private_notes: true });
    }
  }

  async #change(remoteId: string, issue: object): Promise<void> {
    // Redmine rejects an edit if a concurrent edit was saved first. The user then saves again.
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      try {
        return await this.#system.redmine('put', `/issues/${remoteId}.json`, { issue });
      } catch {
        await pause(100);
      }
    }
    throw new Error(`Redmine did not accept ${JSON.stringify(issue)}`);
  }

  #interference(remoteId: string): ProxyFault {
    return { kind: 'interfere', act: () => this.#editThere(remoteId) };
  }

  async #sync(id: string): Promise<void> {
    this.#count('sync');
    await this.#here('post', issuePath({ id }, 'sync/'), undefined, [200, 409, 422, 502, 503, 504]);
  }

  // A killed replica does not respond, but the request may have taken effect.
  async #here(
    method: 'get' | 'post' | 'put',
    path: string,
    body?: object,
    statuses: readonly number[] = [200, 201],
  ): Promise<{ status: number; body: unknown }> {
    for (let attempt = 1; ; attempt += 1) {
      const replica = this.#one(this.#system.replicas());
      try {
        const response = await (await this.#system.person()).on(replica)[method](path, body);
        if (statuses.includes(response.status)) return { status: response.status, body: response.body };
        if (attempt > attemptsMax) throw new Error(`${method} ${path}: ${response.status} ${response.text}`);
      } catch (error) {
        if (attempt > attemptsMax) throw error;
      }
      await pause(200);
    }
  }

  async #markedIssues() {
    const markers = new Map<string, string[]>();
    let total = 0;
    for (let offset = 0; ; offset += 100) {
      const query = `project_id=${this.#system.project}&status_id=*&sort=id&limit=100&offset=${offset}`;
      const page = await this.#system.redmine<{ issues: RedmineIssue[] }>('get', `/issues.json?${query}`);
      total += page.issues.length;
      for (const { id, description } of page.issues)
        for (const [marker] of (description ?? '').matchAll(/<!-- issues-sync:[0-9a-f-]{36} -->/g))
          markers.set(marker, [...(markers.get(marker) ?? []), String(id)]);
      if (page.issues.length < 100) return { total, markers };
    }
  }

  async #compare(
    issue: Issue,
    remoteId: string,
    { markers }: { markers: ReadonlyMap<string, string[]> },
  ): Promise<string[]> {
    const path = `/issues/${remoteId}.json?include=journals`;
    const { issue: remote } = await this.#system.redmine<{ issue: RedmineIssue }>('get', path);
    const history = await this.#history(issue);
    const problems = [...this.#compareFields(issue, remote), ...this.#compareComments(issue, remote)];
    problems.push(...this.#findLost(issue, remote, history));
    const others = (markers.get(issueMarker(issue.id)) ?? []).filter((id) => id !== remoteId);
    // A request that is repeated or takes effect later than expected creates a second issue, which a later sync finds.
    const named = issue.sync.conflicts.filter(({ reason }) => reason === 'duplicate_remote');
    const unknown = others.filter((id) => !named.some(({ remote: text }) => text.includes(id)));
    if (unknown.length > 0) problems.push(`#${remoteId} has duplicates: ${unknown}`);
    const { state, last_error: error } = issue.sync;
    if (state !== 'synced') problems.push(`its sync is ${state}: ${error}`);
    return problems;
  }

  async #history(issue: Issue): Promise<Activity[]> {
    const lines: Activity[] = [];
    let next: string | undefined = issuePath(issue, 'activity/?limit=200');
    while (next !== undefined) {
      const replica = this.#one(this.#system.replicas());
      const { body, headers }: Response = await (await this.#system.person())
        .on(replica)
        .get(next)
        .expect(200);
      lines.push(...body);
      const [, url]: string[] = /<([^>]+)>; rel="next"/.exec(headers.link ?? '') ?? [];
      next = url?.slice(url.indexOf('/api/'));
    }
    return lines;
  }

  // The fields are equal, or a conflict explains the difference.
  #compareFields(issue: Issue, remote: RedmineIssue): string[] {
    const open = new Set<string>(
      issue.sync.conflicts
        .filter(({ reason, kept }) => kept === null || reason === 'not_storable')
        .map(({ field }) => field),
    );
    const here = {
      title: canonicalTitle(issue.title),
      description: canonicalText(issue.description),
      priority: issuePriorities.indexOf(issue.priority),
      status: issue.status,
    };
    const there = {
      title: canonicalTitle(remote.subject),
      description: canonicalText(remote.description ?? ''),
      priority: priorityNames.indexOf(remote.priority.name),
      status: statusHere(remote.status.name, issue.status),
    };
    return Object.entries(here)
      .filter(([field, value]) => !open.has(field) && there[field as keyof typeof there] !== value)
      .map(([field, value]) => `${field} ${value} here, ${there[field as keyof typeof there]} there`);
  }

  #compareComments(issue: Issue, { journals }: RedmineIssue): string[] {
    const problems: string[] = [];
    const own = issue.comments.filter(({ origin }) => origin === 'local').map(({ id }) => id);
    const foreign = issue.comments.filter(({ origin }) => origin !== 'local').map(({ body }) => body);
    const notes = journals.filter((journal) => (journal.notes ?? '') !== '');
    const sent = notes.map((journal) => markedComment(journal.notes ?? '')).filter((id) => id !== undefined);
    const there = notes
      .filter((journal) => markedComment(journal.notes ?? '') === undefined && !journal.private_notes)
      .map((journal) => canonicalText(journal.notes ?? ''));
    for (const id of own) {
      const copies = sent.filter((other) => other === id).length;
      // A proxy that repeats a request creates a second copy, which is not imported.
      if (copies === 0) problems.push(`comment ${id} is not in Redmine`);
      if (copies > 2) problems.push(`comment ${id} is ${copies} times in Redmine`);
    }
    if (foreign.toSorted().join('\n') !== there.toSorted().join('\n'))
      problems.push(`comments ${JSON.stringify(foreign)} here, ${JSON.stringify(there)} there`);
    const leaked = [...this.#privateNotes].filter((note) =>
      JSON.stringify(issue).includes(JSON.stringify(note).slice(1, -1)),
    );
    return [...problems, ...leaked.map((note) => `the private note ${note} leaked`)];
  }

  // The history contains all local texts. The texts that the service replaced in Redmine must be stored locally.
  #findLost(issue: Issue, { journals }: RedmineIssue, history: readonly Activity[]): string[] {
    const kept = new Set(
      [
        issue.title,
        issue.description,
        ...issue.sync.conflicts.flatMap(({ local, remote, base }) => [local, remote, base ?? '']),
        ...history.flatMap(({ old, new: value }) => [old, value]).map(String),
      ].map(canonicalText),
    );
    const replaced = journals
      .filter(({ user }) => user.id === this.#system.accountId)
      .flatMap(({ details }) => details)
      .filter(({ property, name }) => property === 'attr' && (name === 'subject' || name === 'description'))
      .map(({ old_value: value }) => canonicalText(value ?? ''))
      .filter((value) => value !== '' && !kept.has(value));
    return replaced.map((value) => `${JSON.stringify(value)} is lost`);
  }

  /** Returns the local edits that are in no field and no history. */
  async lostHere(): Promise<string[]> {
    const kept = new Set<string>();
    for (const id of this.#ids) {
      const issue = issueSchema.parse((await this.#here('get', issuePath({ id }))).body);
      // Setting the current priority writes no history entry.
      for (const text of [issue.title, issue.description, issue.priority]) kept.add(text);
      for (const { old, new: value } of await this.#history(issue))
        for (const text of [old, value]) kept.add(String(text));
    }
    return [...this.#typedHere].filter((text) => !kept.has(text));
  }

  #text(kind: string): string {
    this.#number += 1;
    return `${kind} ${this.#number}`;
  }

  #one<Item>(items: readonly Item[]): Item {
    const item = items[Math.floor(this.#random() * items.length)];
    if (item === undefined) throw new Error('nothing to choose from');
    return item;
  }

  #count(what: string): void {
    this.#tally.set(what, (this.#tally.get(what) ?? 0) + 1);
  }
}

// Redmine's status Rejected maps to a closed issue.
function statusHere(name: string, local: Issue['status']): string {
  const statuses: Record<string, Issue['status']> = {
    New: 'OPEN',
    'In Progress': 'IN_PROGRESS',
    Resolved: 'RESOLVED',
    Feedback: 'REOPENED',
    Closed: 'CLOSED',
  };
  return statuses[name] ?? (local === 'RESOLVED' ? 'RESOLVED' : 'CLOSED');
}
