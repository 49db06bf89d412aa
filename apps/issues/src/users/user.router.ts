import {
  createUserSchema,
  updateUserSchema,
  userListQuerySchema,
  userParamsSchema,
} from '@tessera/contracts';
import { parse, readBody, sendAnswer } from '@tessera/service-kit';
import { type RequestHandler, Router } from 'express';
import { actorOf } from '../authentication/actor.ts';
import { readKeysetPage } from '../paging/keyset-page.ts';
import { presentFullUser, presentUser, readUserBody } from './user.presenter.ts';
import type { UserService } from './user.service.ts';

interface UserRouterOptions {
  users: UserService;
  publicBaseUrl: string;
}

const path = '/api/v1/users/';
const body = readBody({ limitBytes: 64 * 1024 });

/** People: the assignee picker for everybody, administration for staff. */
export function userRouter({ users, publicBaseUrl }: UserRouterOptions): Router {
  const router = Router();

  // With its filters: the way to the next page keeps them, and a cursor belongs to them.
  const listUrl = (filters: object) => {
    const url = new URL(`${publicBaseUrl}${path}`);
    for (const [name, value] of Object.entries(filters)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    return url.href;
  };

  router.get(path, async (request, response) => {
    const actor = actorOf(response);
    const { search, is_active: isActive } = parse(userListQuerySchema, request.query);
    const page = readKeysetPage(
      { limit: request.query.limit, cursor: request.query.cursor },
      listUrl({ search, is_active: isActive }),
      [{ field: 'id', descending: false }],
    );
    const after = page.after === undefined ? undefined : String(page.after[0]);
    const { people, end } = await users.list(actor, { search, isActive, after, limit: page.size });
    const items = people.map((person) => presentUser(person, actor));
    sendAnswer(response, page.present(items, end === undefined ? undefined : [end]));
  });

  router.get(`${path}me/`, async (request, response) => {
    const actor = actorOf(response);
    response.json(presentFullUser(await users.find(actor, actor.id, request.requestId ?? '')));
  });

  router.get(`${path}:id/`, async (request, response) => {
    const { id } = parse(userParamsSchema, request.params);
    const actor = actorOf(response);
    response.json(presentUser(await users.find(actor, id, request.requestId ?? ''), actor));
  });

  router.post(path, body, async (request, response) => {
    const user = readUserBody(parse(createUserSchema, request.body));
    const created = await users.create(actorOf(response), user, request.requestId ?? '');
    response.status(201).location(`${publicBaseUrl}${path}${created.id}/`).json(presentFullUser(created));
  });

  const update: RequestHandler = async (request, response) => {
    const { id } = parse(userParamsSchema, request.params);
    const changes = readUserBody(parse(updateUserSchema, request.body));
    const updated = await users.update(actorOf(response), id, changes, request.requestId ?? '');
    response.json(presentFullUser(updated));
  };
  router.put(`${path}:id/`, body, update);
  router.patch(`${path}:id/`, body, update);

  router.delete(`${path}:id/`, async (request, response) => {
    const { id } = parse(userParamsSchema, request.params);
    await users.deactivate(actorOf(response), id, request.requestId ?? '');
    response.status(204).end();
  });

  return router;
}
