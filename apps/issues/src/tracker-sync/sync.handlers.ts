import type {
  attachExternalIssue,
  backfillSyncs,
  detachExternalIssue,
  getImport,
  getSyncState,
  importIssues,
  listIntegrations,
  resolveSyncConflict,
  retrySyncs,
  syncIssue,
} from '@tessera/contracts';
import type { Handler } from '@tessera/service-kit';
import type { SideEffectHandler } from '../idempotency/once.ts';
import type { Actor } from '../issue-core/actor.ts';
import { type IssuePresenter, issueResponse, presentSyncReport } from '../issue-core/issue.presenter.ts';
import type { IssueSnapshot, PresentedIssue } from '../issue-core/issue.ts';
import { type IssueReference, type IssueUrls, seenBy } from '../issue-core/issue-reference.ts';
import type { ImportService } from './import.service.ts';
import type { IntegrationService } from './integration.service.ts';
import type { SyncBindingService } from './sync-binding.service.ts';
import type { SyncService } from './sync-runner.ts';

interface SyncHandlersOptions {
  issues: {
    find(reference: IssueReference): Promise<PresentedIssue>;
    findWithConflicts(reference: IssueReference): Promise<IssueSnapshot>;
  };
  sync: SyncService;
  bindings: SyncBindingService;
  integration: IntegrationService;
  imports: ImportService;
  presenter: IssuePresenter;
  urls: IssueUrls;
}

/** Handlers of syncs (docs/spec/issue-tracking.md 4). The operations for staff are additions to the specification. */
export function syncHandlers({
  issues,
  sync,
  bindings,
  integration,
  imports,
  presenter,
  urls,
}: SyncHandlersOptions) {
  const run: SideEffectHandler<typeof syncIssue> = {
    issueOf: ({ actor, params }) => urls.parse(params, actor),
    effect: async ({ actor, params, requestId }) => {
      const synced = await sync.sync(actor, urls.parse(params, actor), requestId);
      return { resourceId: synced.id, response: issueResponse(presenter.text(synced)) };
    },
    present: async (id, { actor }) => issueResponse(await issues.find(seenBy({ id }, actor))),
  };

  const getState: Handler<typeof getSyncState, Actor> = async ({ actor, params }) => ({
    status: 200,
    body: presentSyncReport(await issues.findWithConflicts(urls.parse(params, actor))),
  });

  const resolveConflict: Handler<typeof resolveSyncConflict, Actor> = async (call) => {
    const { actor, params, body, requestId } = call;
    const decision = { keep: body.keep, requestId };
    const issue = await bindings.resolve(actor, urls.parse(params, actor), params.conflict_id, decision);
    return issueResponse(presenter.text(issue));
  };

  const attach: Handler<typeof attachExternalIssue, Actor> = async ({ actor, params, body }) =>
    issueResponse(presenter.text(await bindings.attach(actor, urls.parse(params, actor), body.id)));

  const detach: Handler<typeof detachExternalIssue, Actor> = async ({ actor, params }) =>
    issueResponse(presenter.text(await bindings.detach(actor, urls.parse(params, actor))));

  const list: Handler<typeof listIntegrations, Actor> = async () => ({
    status: 200,
    body: await integration.list(),
  });

  const retry: Handler<typeof retrySyncs, Actor> = async ({ body }) => ({
    status: 200,
    body: await integration.retrySyncs(body),
  });

  const startImport: Handler<typeof importIssues, Actor> = async ({ actor, query }) =>
    query.dry_run === true
      ? { status: 200, body: await imports.preview(query.cursor) }
      : { status: 202, body: await imports.start(actor) };

  const readImport: Handler<typeof getImport, Actor> = async () => ({
    status: 200,
    body: await imports.findLast(),
  });

  const backfill: Handler<typeof backfillSyncs, Actor> = async ({ actor, query, body }) => {
    const options = { limit: body.limit, isDryRun: query.dry_run === true };
    const { numbers, hasMore } = await imports.backfill(actor, options);
    const issues = numbers.map((number) => urls.keyOf({ number, projectKey: null }));
    return { status: 200, body: { issues, has_more: hasMore } };
  };

  return { run, getState, resolveConflict, attach, detach, retry, list, startImport, readImport, backfill };
}
