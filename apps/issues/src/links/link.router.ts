import { linkInputSchema, uuid } from '@tessera/contracts';
import { parse, readBody, sendAnswer } from '@tessera/service-kit';
import { Router } from 'express';
import { z } from 'zod';
import { actorOf } from '../authentication/actor.ts';
import { type IssueAddresses, issuePath } from '../issues/issue-address.ts';
import { presentLink, readLink } from './link.presenter.ts';
import type { LinkService } from './link.service.ts';

interface LinkRouterOptions {
  links: LinkService;
  addresses: IssueAddresses;
}

const body = readBody({ limitBytes: 256 * 1024 });
const paramsSchema = z.object({ link_id: uuid() });

/** issue-tracking.md 2.3, one link at a time. */
export function linkRouter({ links, addresses }: LinkRouterOptions): Router {
  const router = Router();

  router.post(`${issuePath}/links`, body, async (request, response) => {
    const reference = addresses.parse(request.params);
    const draft = readLink(parse(linkInputSchema, request.body));
    const put = await links.put(actorOf(response), reference, draft, {
      precondition: { ifMatch: request.get('if-match') },
      requestId: request.requestId ?? '',
    });
    sendAnswer(response, presentLink(put));
  });

  router.delete(`${issuePath}/links/:linkId`, async (request, response) => {
    const reference = addresses.parse(request.params);
    const { link_id: linkId } = parse(paramsSchema, { link_id: request.params.linkId });
    await links.remove(actorOf(response), reference, linkId, {
      precondition: { ifMatch: request.get('if-match') },
      requestId: request.requestId ?? '',
    });
    response.status(204).end();
  });

  return router;
}
