import type { Link, LinkInput } from '@tessera/contracts';
import { toPersonReference } from '../people/person-resolver.ts';
import type { LinkDraft, StoredLink } from './link.ts';

/** The wire form of a link, by itself and in its issue. */
export function presentLink(link: StoredLink): Link {
  return { ...presentListedLink(link), metadata: link.metadata };
}

/** The wire form of a link in a list of issues. */
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
