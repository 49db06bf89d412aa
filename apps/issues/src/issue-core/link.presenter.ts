import type { Link, LinkInput } from '@tessera/contracts';
import type { LinkDraft, StoredLink } from './link.ts';
import { toPersonReference } from './person.ts';

/** Converts a link to its representation in the API, which is the same in an issue. */
export function presentLink(link: StoredLink): Link {
  return { ...presentListedLink(link), metadata: link.metadata };
}

/** Converts a link to its representation in a list of issues. */
export function presentListedLink(link: StoredLink): Omit<Link, 'metadata'> {
  return {
    id: link.id,
    type: link.type,
    ref: link.ref,
    title: link.title,
    url: link.url,
    relation: link.relation,
    created_by: link.createdBy,
    created_at: link.createdAt.toISOString(),
  };
}

export function readLink({ type, title, url, relation, metadata, ...target }: LinkInput): LinkDraft {
  const details = { type, title: title ?? null, url: url ?? null, relation, metadata: metadata ?? null };
  return 'person' in target
    ? { ...details, person: toPersonReference(target.person) }
    : { ...details, ref: target.ref };
}
