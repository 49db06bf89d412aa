// Checked by the compiler (`pnpm run typecheck`): a handler compiles only if it uses the input that its operation
// declares and returns one of the declared responses.
import { operation } from '@tessera/contracts';
import { z } from 'zod';
import { type Access, everyone, type Handler, jsonText, type ResponseOf, route } from '../src/index.ts';

const getThing = operation({
  id: 'getThing',
  method: 'GET',
  path: '/things/:id',
  summary: 'Read a thing',
  tags: [],
  params: z.object({ id: z.string() }),
  query: z.object({ limit: z.string().transform(Number).optional() }),
  headers: z.object({ 'If-None-Match': z.string().optional() }),
  responses: {
    200: { description: 'The thing.', schema: z.object({ name: z.string(), size: z.int() }) },
    304: { description: 'The client has it.' },
  },
});
const createThing = operation({
  id: 'createThing',
  method: 'POST',
  path: '/things',
  summary: 'Create a thing',
  tags: [],
  body: { schema: z.object({ name: z.string().transform((name) => name.length) }) },
  responses: { 201: { description: 'The thing.', schema: z.object({ name: z.string() }) } },
});

const getName = operation({
  ...getThing,
  id: 'getName',
  responses: { 200: { description: 'The name.', schema: z.string() } },
});

interface User {
  name: string;
}
const users: Access<User> = { identify: () => ({ name: 'ann' }) };
const body = { name: 'a', size: 1 };

export const responses: ResponseOf<typeof getThing>[] = [
  { status: 200, body },
  { status: 200, headers: { ETag: '"1"' }, body: jsonText(body) },
  { status: 304 },
  // @ts-expect-error The operation declares no 201.
  { status: 201, body },
  // @ts-expect-error A 200 has a body.
  { status: 200 },
  // @ts-expect-error `size` is a number.
  { status: 200, body: { name: 'a', size: '1' } },
  // @ts-expect-error `size` is missing.
  { status: 200, body: { name: 'a' } },
  // @ts-expect-error `colour` is not declared.
  { status: 200, body: { name: 'a', size: 1, colour: 'red' } },
  // @ts-expect-error The text represents another type.
  { status: 200, body: jsonText({ name: 'a' }) },
  // @ts-expect-error The text may represent anything.
  { status: 200, body: JSON.stringify(body) },
  // @ts-expect-error A 304 has no body.
  { status: 304, body },
  // @ts-expect-error A header is a string.
  { status: 304, headers: { Age: 1 } },
];

export const names: ResponseOf<typeof getName>[] = [
  { status: 200, body: jsonText('a') },
  // @ts-expect-error A string is sent unchanged, and `a` is not JSON.
  { status: 200, body: 'a' },
];

export const read: Handler<typeof getThing, User> = async ({ params, query, headers, actor }) => {
  const text: string = params.id + (headers['If-None-Match'] ?? '') + actor.name;
  const size: number = query.limit ?? 0;
  return { status: 200, body: { name: text, size } };
};

export const misread: Handler<typeof getThing> = (call) => {
  // @ts-expect-error The path has no such parameter.
  call.params.name;
  // @ts-expect-error The query has no such parameter.
  call.query.page;
  // @ts-expect-error The operation does not declare this header.
  call.headers.Authorization;
  // @ts-expect-error Parsing converts it to a number.
  call.query.limit?.trim();
  // @ts-expect-error The operation has no body.
  call.body.name;
  // @ts-expect-error The route is public: there is no caller.
  call.actor.name;
  return { status: 304 };
};

export const create: Handler<typeof createThing, User> = ({ body }) => {
  const length: number = body.name;
  return { status: 201, body: { name: String(length) } };
};

// @ts-expect-error A promise of an undeclared response.
export const late: Handler<typeof createThing> = async () => ({ status: 200, body: { name: 'a' } });

export const routes = [
  route(getThing, { access: users }, read),
  route(
    getThing,
    { access: users, limit: { request: ({ name }) => void name }, authorize: ({ name }) => void name },
    read,
  ),
  // @ts-expect-error The handler belongs to another operation.
  route(getThing, { access: users }, create),
  // @ts-expect-error The handler needs a caller, and the access identifies none.
  route(getThing, { access: everyone }, read),
  // @ts-expect-error The limit needs a caller of another type.
  route(getThing, { access: users, limit: { request: (actor: { id: number }) => void actor } }, read),
];
