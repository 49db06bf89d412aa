import type { Issue, LinkInput, putLink } from '@tessera/contracts';
import type { ResponseOf } from '@tessera/service-kit';
import { etagOf, type IssueView } from '../issues/issue.ts';
import { toPersonReference } from '../people/person-resolver.ts';
import type { LinkDraft, NewLink } from './link.ts';

interface PutLink {
  issue: IssueView;
  link: NewLink;
  isNew: boolean;
}

/** The link as its issue shows it, with the issue's new ETag. */
export function presentLink({ issue, link, isNew }: PutLink): ResponseOf<typeof putLink> {
  const { links }: Issue = JSON.parse(issue.document);
  const shown = links.find(({ type, ref }) => type === link.type && ref === link.ref);
  if (shown === undefined) throw new Error('the issue does not show the link that was put');
  return { status: isNew ? 201 : 200, headers: { ETag: etagOf(issue) }, body: shown };
}

export function readLink({ type, title, url, relation, metadata, ...target }: LinkInput): LinkDraft {
  const details = { type, title: title ?? null, url: url ?? null, relation, metadata: metadata ?? null };
  return 'person' in target
    ? { ...details, person: toPersonReference(target.person) }
    : { ...details, ref: target.ref };
}
