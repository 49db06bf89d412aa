import type { BodyOf, changeIssues } from '@tessera/contracts';
import { jsonText } from '@tessera/service-kit';
import type { OnceHandler } from '../idempotency/once.ts';
import type { PartsQuota } from '../issue-core/actor.ts';
import type { IssueUrls } from '../issue-core/issue-reference.ts';
import { parseIssueReference } from '../issue-core/issue-reference.ts';
import type { IssueBulkService } from './issue-bulk.service.ts';

interface IssueBulkHandlersOptions {
  bulk: IssueBulkService;
  urls: IssueUrls;
  /** The quota of writes. */
  quota: PartsQuota;
}

/** Handler of changes of many issues. An addition to the specification. */
export function issueBulkHandlers({ bulk, urls, quota }: IssueBulkHandlersOptions) {
  const namesOf = ({ ids }: BodyOf<typeof changeIssues>) =>
    ids.map((id, place) => parseIssueReference(id, urls.keyPrefix, `ids.${place}`));

  const change: OnceHandler<typeof changeIssues> = {
    before: async ({ actor, body, response }) => {
      await quota.countParts(actor, response, { count: namesOf(body).length, name: 'issue' });
    },
    prepare: async ({ actor, body, requestId }) => {
      const wanted = await bulk.resolve(actor, body);
      return async (transaction) => {
        const outcomes = await bulk.change(actor, namesOf(body), wanted, requestId, transaction);
        const results = outcomes.map((outcome, place) => ({ id: body.ids[place] ?? '', ...outcome }));
        return { resourceId: null, response: { status: 200, body: jsonText({ results }) } };
      };
    },
  };

  return { change };
}
