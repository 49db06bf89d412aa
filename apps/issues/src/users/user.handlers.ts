import {
  type changeMyPassword,
  type createUser,
  type deactivateUser,
  type getMe,
  type getUser,
  listUsers,
  text,
  type updateMe,
  type updateUser,
  uuid,
} from '@tessera/contracts';
import { type Handler, readKeysetPage, withParameters } from '@tessera/service-kit';
import { z } from 'zod';
import type { KnownIdentity } from '../identity-mirror/mirrored-identity.ts';
import { isRanked } from '../identity-mirror/people-list.ts';
import type { Actor } from '../issue-core/actor.ts';
import { parseIssueReference, seenBy } from '../issue-core/issue-reference.ts';
import { PlaceSealer } from './sealed-place.ts';
import { presentFullUser, presentUser, readUserBody } from './user.presenter.ts';
import type { UserService } from './user.service.ts';

interface UserHandlersOptions {
  users: UserService;
  identity: { serviceToken: string; previousServiceToken?: string | undefined };
  publicBaseUrl: string;
  keyPrefix: string;
}

const rankedPlace = z.object({
  tier: z.literal([0, 1]),
  seenOrder: z.int32(),
  sortName: text().max(1000),
  id: uuid(),
});

/** Handlers of users: the list for the choice of an assignee, and the administration by staff. */
export function userHandlers({ users, identity, publicBaseUrl, keyPrefix }: UserHandlersOptions) {
  const { serviceToken, previousServiceToken } = identity;
  const sealer = new PlaceSealer([serviceToken, previousServiceToken ?? serviceToken]);
  const usersUrl = `${publicBaseUrl}${listUsers.path}`;
  const named = (text: string | undefined, field: string, actor: Actor) =>
    text === undefined ? undefined : seenBy(parseIssueReference(text, keyPrefix, field), actor);

  const list: Handler<typeof listUsers, Actor> = async ({ actor, query }) => {
    const { search, is_active: isActive, ids, issue, can_read } = query;
    const parameters = { search, is_active: isActive?.toString(), ids: ids?.join(), issue, can_read };
    const list = { url: withParameters(usersUrl, parameters), sizeDefault: 100 };
    const item = (person: KnownIdentity) => presentUser(person, actor);
    const filter = {
      search,
      isActive,
      ids,
      issue: named(issue, 'issue', actor),
      canRead: named(can_read, 'can_read', actor),
    };
    if (!isRanked(filter)) {
      const page = readKeysetPage(query, { ...list, place: uuid() });
      return page.present(await users.list(actor, filter, page), { item, place: ({ id }) => id });
    }
    const page = readKeysetPage(query, { ...list, place: sealer.sealed(rankedPlace) });
    return page.present(await users.listRanked(actor, filter, page), {
      item,
      place: ({ tier, seenOrder, sortName, id }) => sealer.seal({ tier, seenOrder, sortName, id }),
    });
  };

  const getCurrent: Handler<typeof getMe, Actor> = async ({ actor, requestId }) => ({
    status: 200,
    body: presentFullUser(await users.find(actor, actor.id, requestId)),
  });

  const updateCurrent: Handler<typeof updateMe, Actor> = async ({ actor, body, requestId }) => ({
    status: 200,
    body: presentFullUser(await users.rename(actor, body.name, requestId)),
  });

  const changePassword: Handler<typeof changeMyPassword, Actor> = async ({ actor, body, requestId }) => {
    await users.changePassword(actor, body, requestId);
    return { status: 204 };
  };

  const get: Handler<typeof getUser, Actor> = async ({ actor, params, requestId }) => ({
    status: 200,
    body: presentUser(await users.find(actor, params.id, requestId), actor),
  });

  const create: Handler<typeof createUser, Actor> = async ({ actor, body, requestId }) => {
    const created = await users.create(actor, readUserBody(body), requestId);
    return {
      status: 201,
      headers: { Location: `${usersUrl}${created.id}/` },
      body: presentFullUser(created),
    };
  };

  const update: Handler<typeof updateUser, Actor> = async ({ actor, params, body, requestId }) => ({
    status: 200,
    body: presentFullUser(await users.update(actor, params.id, readUserBody(body), requestId)),
  });

  const deactivate: Handler<typeof deactivateUser, Actor> = async ({ actor, params, requestId }) => {
    await users.deactivate(actor, params.id, requestId);
    return { status: 204 };
  };

  return { list, getCurrent, updateCurrent, changePassword, get, create, update, deactivate };
}
