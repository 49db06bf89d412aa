import {
  type createUser,
  type deactivateUser,
  type getMe,
  type getUser,
  listUsers,
  type updateUser,
  uuid,
} from '@tessera/contracts';
import { type Handler, readKeysetPage, withParameters } from '@tessera/service-kit';
import type { Actor } from '../authentication/actor.ts';
import { presentFullUser, presentUser, readUserBody } from './user.presenter.ts';
import type { UserService } from './user.service.ts';

interface UserHandlersOptions {
  users: UserService;
  publicBaseUrl: string;
}

/** Users: the list for choosing an assignee, and administration by staff. */
export function userHandlers({ users, publicBaseUrl }: UserHandlersOptions) {
  const usersUrl = `${publicBaseUrl}${listUsers.path}`;

  const list: Handler<typeof listUsers, Actor> = async ({ actor, query }) => {
    const { search, is_active: isActive } = query;
    const filters = { search, is_active: isActive === undefined ? undefined : String(isActive) };
    const url = withParameters(usersUrl, filters);
    const page = readKeysetPage(query, { url, place: uuid(), sizeDefault: 100 });
    const people = await users.list(actor, { search, isActive, after: page.after, limit: page.limit });
    return page.present(people, { item: (person) => presentUser(person, actor), place: ({ id }) => id });
  };

  const getCurrent: Handler<typeof getMe, Actor> = async ({ actor, requestId }) => ({
    status: 200,
    body: presentFullUser(await users.find(actor, actor.id, requestId)),
  });

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

  return { list, getCurrent, get, create, update, deactivate };
}
