import {
  deleteAttachment,
  getAttachment,
  getAttachmentContent,
  listAttachments,
  uploadAttachment,
} from '@tessera/contracts';
import { type Access, type Route, route } from '@tessera/service-kit';
import type { Dependencies } from '../dependencies.ts';
import { once } from '../idempotency/once.ts';
import type { Actor } from '../issue-core/actor.ts';
import { limitRate } from '../rate-limit/rate-limiter.ts';
import type { RouteLimits } from '../rate-limit/route-limits.ts';
import { attachmentHandlers } from './attachment.handlers.ts';

/** Access rules of the requests that browsers send otherwise than those of the other operations. */
export interface FileAccess {
  /** A body that is not JSON. */
  uploads: Access<Actor>;
  /** An image or a navigation, without headers of the page. */
  contents: Access<Actor>;
}

/** The operations on files. A transfer takes long, so it has a share of its own, not one of the requests. */
export function attachmentRoutes(
  dependencies: Dependencies,
  { access, reads, writes }: RouteLimits,
  { uploads, contents }: FileAccess,
): Route[] {
  const { idempotency, rateLimits, transfers } = dependencies;
  const handlers = attachmentHandlers(dependencies);
  return [
    route(
      uploadAttachment,
      { access: uploads, limit: limitRate(rateLimits.writes, transfers.uploads) },
      once(idempotency, handlers.upload),
    ),
    route(getAttachment, { access, limit: reads }, handlers.get),
    route(
      getAttachmentContent,
      { access: contents, limit: limitRate(rateLimits.reads, transfers.downloads) },
      handlers.getContent,
    ),
    route(deleteAttachment, { access, limit: writes }, handlers.remove),
    route(listAttachments, { access, limit: reads }, handlers.list),
  ];
}
