import {
  conflictsBytesMax,
  type IssueLabel,
  type IssueStatus,
  type LabelReference,
} from '@tessera/contracts';
import { ProblemError } from '@tessera/service-kit';
import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from '../database.ts';
import type { Actor } from '../issue-core/actor.ts';
import type { CommentDraft } from '../issue-core/comment.ts';
import type { IssuePresenter } from '../issue-core/issue.presenter.ts';
import type {
  ChangedBy,
  Complete,
  IssueDraft,
  IssueEdit,
  IssueSnapshot,
  IssueState,
  IssueWithLinks,
  NamedAssignee,
  NewIssue,
  PresentedIssue,
} from '../issue-core/issue.ts';
import { assertMay, type IssueParties, may, mayBeAssigned } from '../issue-core/issue-access.ts';
import { planChange, type WantedIssue } from '../issue-core/issue-change.ts';
import { assertFound, type IssueReference } from '../issue-core/issue-reference.ts';
import { assertMayFollow, initialStatus } from '../issue-core/issue-status.ts';
import { needsLookUp, resolveLinks } from '../issue-core/link-resolver.ts';
import { assertMayName, cannotRead, isSelf, type PersonResolver } from '../issue-core/person.ts';
import {
  assertConditional,
  assertMatches,
  isStale,
  type Precondition,
  versionConflict,
} from '../issue-core/precondition.ts';
import { defaultProjectId } from '../issue-core/project.ts';
import type { ReadScope } from '../issue-core/project-access.ts';
import {
  createTextCache,
  type IssueRevision,
  isSameRevision,
  issueRevisionOf,
} from '../issue-core/text-cache.ts';
import type { AccessReader } from '../issue-store/access-reader.ts';
import type { IssueReader } from '../issue-store/read.ts';
import type { Decide, IssueWriter } from '../issue-store/write.ts';

interface IssueServiceDependencies {
  reader: IssueReader;
  writer: IssueWriter;
  presenter: IssuePresenter;
  people: PersonResolver;
  labels: { resolve(references: readonly LabelReference[]): Promise<IssueLabel[]> };
  mentions: { resolve(text: string): Promise<string[]> };
  projects: { resolve(key: string, actor: Actor): Promise<{ id: string }> };
  access: Pick<AccessReader, 'ofMirrored'>;
  /** Whether a change requires `If-Match` or `version`. */
  requirePrecondition: boolean;
}

export interface StatusRequest {
  status: IssueStatus;
  comment: CommentDraft | null;
  precondition: Precondition;
  requestId: string;
}

interface UpdateContext {
  precondition: Precondition;
  requestId: string;
  countLinks: (changed: number) => Promise<void>;
}

/** Creates, reads and changes issues (docs/spec/issue-tracking.md 3 and 4). */
export class IssueService {
  readonly #reader: IssueReader;
  readonly #writer: IssueWriter;
  readonly #presenter: IssuePresenter;
  readonly #people: PersonResolver;
  readonly #labels: IssueServiceDependencies['labels'];
  readonly #mentions: IssueServiceDependencies['mentions'];
  readonly #projects: IssueServiceDependencies['projects'];
  readonly #access: IssueServiceDependencies['access'];
  readonly #requirePrecondition: boolean;
  readonly #texts = createTextCache<PresentedIssue & { revision: IssueRevision }>();

  constructor({
    reader,
    writer,
    presenter,
    people,
    labels,
    mentions,
    projects,
    access,
    requirePrecondition,
  }: IssueServiceDependencies) {
    this.#reader = reader;
    this.#writer = writer;
    this.#presenter = presenter;
    this.#people = people;
    this.#labels = labels;
    this.#mentions = mentions;
    this.#projects = projects;
    this.#access = access;
    this.#requirePrecondition = requirePrecondition;
  }

  /** Returns the JSON text of an issue. Reuses the cached text if its revision and the names in it are current. */
  async find(reference: IssueReference): Promise<PresentedIssue> {
    const name = 'id' in reference ? reference.id : `${reference.prefix ?? ''}-${reference.number}`;
    const cached = this.#texts.get(name);
    if (cached !== undefined) {
      const people = [...cached.revision.names.keys()];
      if (isSameRevision(cached.revision, assertFound(await this.#reader.findRevision(reference, people))))
        return cached;
    }
    const issue = assertFound(await this.#reader.find(reference));
    const presented = { ...this.#presenter.text(issue), revision: issueRevisionOf(issue) };
    this.#texts.set(name, presented);
    return presented;
  }

  /** Returns the issue with as many conflicts as fit into a response, without links and comments. */
  async findWithConflicts(reference: IssueReference): Promise<IssueSnapshot> {
    return assertFound(await this.#reader.findWithConflicts(reference, conflictsBytesMax));
  }

  /** A draft with its people and labels looked up: the one part of a creation that may have to ask another service. */
  async resolve(actor: Actor, draft: IssueDraft): Promise<NewIssue> {
    assertStatus(draft.status, initialStatus);
    const { title, description, priority, assignee, dueOn, project } = draft;
    const projectId = project === undefined ? undefined : (await this.#projects.resolve(project, actor)).id;
    const parties = { reporterId: actor.id, assigneeId: null, projectId: projectId ?? defaultProjectId };
    return {
      title,
      description,
      priority,
      dueOn,
      assigneeId: assignee === null ? null : await this.#resolveAssignee(actor, assignee, parties),
      mentionIds: await this.#mentions.resolve(description),
      links: await this.#resolveLinks(actor, draft.links, { ...parties, links: [] }),
      labels: await this.#labels.resolve(draft.labels),
      projectId: projectId === defaultProjectId ? undefined : projectId,
    };
  }

  async create(
    issue: NewIssue,
    scope: ReadScope,
    by: ChangedBy & { actorId: string },
    within?: Transaction,
  ): Promise<IssueSnapshot> {
    return this.#writer.create(issue, scope, by, within);
  }

  /**
   * Changes the supplied fields. All checks and the write happen under one lock of the issue. `countLinks` counts the links
   * that change or whose people are looked up towards the quota of the actor, and throws a 429 problem. A change that meets
   * another one counts twice.
   */
  async update(
    actor: Actor,
    reference: IssueReference,
    edit: IssueEdit,
    { precondition, requestId, countLinks }: UpdateContext,
  ): Promise<IssueSnapshot> {
    const seen = assertFound(await this.#reader.findWithLinks(reference));
    assertMayEdit(actor, seen, edit);
    const lookUps = edit.links?.filter((link) => needsLookUp(link, seen.links)).length ?? 0;
    await countLinks(lookUps);
    const wanted = await this.#resolveEdit(actor, edit, seen);
    const by = { actorId: actor.id, requestId };
    const changed = await this.#writer.change(
      { id: seen.id, scope: reference.scope },
      by,
      async (issue, transaction) => {
        assertMayEdit(actor, issue, edit);
        await this.#assertHolds(actor, precondition, issue, transaction);
        assertStatus(edit.status, issue.status);
        const change = planChange(issue, wanted);
        const changed = (change?.links?.put.length ?? 0) + (change?.links?.removed.length ?? 0);
        await countLinks(changed - Math.max(0, lookUps - 1));
        return change;
      },
    );
    return assertFound(changed);
  }

  /** Changes the status. A request for the current status succeeds without a change, so that a client can retry. */
  async changeStatus(
    actor: Actor,
    reference: IssueReference,
    { status, comment, precondition, requestId }: StatusRequest,
    within?: Transaction,
  ): Promise<IssueSnapshot> {
    const by = { actorId: actor.id, requestId };
    const decide: Decide<IssueWithLinks> = async (issue, transaction) => {
      assertMay(actor, 'changeStatus', issue);
      await this.#assertHolds(actor, precondition, issue, transaction);
      if (issue.status === status) return undefined;
      assertMayFollow(issue.status, status);
      const comments = comment === null ? [] : [{ kind: 'added' as const, id: uuidv7(), draft: comment }];
      return { statuses: [status], comments };
    };
    return assertFound(await this.#writer.change(reference, by, decide, within));
  }

  async #assertHolds(
    actor: Actor,
    precondition: Precondition,
    issue: IssueWithLinks,
    transaction: Transaction,
  ): Promise<void> {
    assertConditional(precondition, this.#requirePrecondition);
    assertMatches(precondition, issue);
    if (!isStale(precondition, issue)) return;
    const current = assertFound(
      await this.#reader.find({ id: issue.id, scope: actor.access.scope }, transaction),
    );
    throw versionConflict(this.#presenter.issue(current));
  }

  async #resolveEdit(actor: Actor, edit: IssueEdit, seen: IssueWithLinks): Promise<Complete<WantedIssue>> {
    const { title, description, priority, assignee, dueOn } = edit;
    return {
      title,
      description,
      priority,
      dueOn,
      assigneeId:
        assignee === null || assignee === undefined
          ? assignee
          : await this.#resolveAssignee(actor, assignee, seen),
      mentionIds: description === undefined ? undefined : await this.#mentions.resolve(description),
      links: edit.links === undefined ? undefined : await this.#resolveLinks(actor, edit.links, seen),
      labels: edit.labels === undefined ? undefined : await this.#labels.resolve(edit.labels),
      keepTrackerLinks: !may(actor, 'linkTracker', seen),
    };
  }

  // The actor and the current assignee are not looked up. The current assignee may have been deactivated since.
  async #resolveAssignee(actor: Actor, { person, field }: NamedAssignee, issue: IssueParties) {
    if (isSelf(actor, person)) return actor.id;
    if ('id' in person && person.id === issue.assigneeId) return person.id;
    assertMayName(actor, person, field);
    const { id } = await this.#people.resolveForAssignment(person, field);
    if (actor.access.restricted(issue.projectId) === undefined) return id;
    const assignee = { id, access: await this.#access.ofMirrored(id) };
    if (!mayBeAssigned(assignee, issue, actor)) throw cannotRead(field);
    return id;
  }

  async #resolveLinks(
    actor: Actor,
    drafts: IssueDraft['links'],
    issue: IssueParties & Pick<IssueWithLinks, 'links'>,
  ) {
    return resolveLinks(drafts, {
      actor,
      people: this.#people,
      current: issue.links,
      fieldOf: (place, member) => `links.${place}.${member}`,
      mayLinkTracker: may(actor, 'linkTracker', issue),
    });
  }
}

// Every user may take an unassigned issue, but may not change anything else in the same request.
function assertMayEdit(actor: Actor, issue: IssueState, { assignee, ...others }: IssueEdit): void {
  if (Object.values(others).some((value) => value !== undefined)) assertMay(actor, 'update', issue);
  if (assignee === undefined) return;
  const takes = assignee !== null && isSelf(actor, assignee.person) && issue.assigneeId === null;
  assertMay(actor, takes ? 'takeUnassigned' : 'assign', issue);
}

// docs/spec/issue-tracking.md 3: only the status endpoint changes the status. An unchanged status in the body is allowed.
function assertStatus(given: IssueState['status'] | undefined, present: IssueState['status']): void {
  if (given === undefined || given === present) return;
  throw new ProblemError({
    status: 422,
    code: 'status_not_writable',
    detail: 'The status is changed through POST /api/v1/issues/{id}/status/.',
    errors: [{ field: 'status', message: `must be ${present} here` }],
  });
}
