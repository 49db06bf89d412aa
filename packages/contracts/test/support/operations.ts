import { z } from 'zod';
import type { Operation } from '../../src/index.ts';

const id = z.guid().toLowerCase();
const ticketSchema = z.object({ id, title: z.string(), parent: id.nullable() }).meta({ id: 'Ticket' });

/** The operations of a small ticket service: parameters, bodies, forms, headers, OAuth errors. */
export const operations: Operation[] = [
  {
    method: 'GET',
    path: '/tickets/:id',
    id: 'getTicket',
    summary: 'Read a ticket',
    tags: ['tickets'],
    security: ['bearer'],
    params: z.object({ id }),
    headers: z.object({ 'If-None-Match': z.string().optional() }),
    responses: {
      200: {
        description: 'The ticket.',
        schema: ticketSchema,
        headers: { ETag: z.string().describe('Its version.') },
      },
      304: { description: 'Not modified.' },
    },
    problems: [401, { status: 404, codes: ['issue_not_found'] }, 422],
  },
  {
    method: 'PUT',
    path: '/tickets/:id',
    id: 'replaceTicket',
    summary: 'Change a ticket',
    tags: ['tickets'],
    security: ['bearer'],
    params: z.object({ id }),
    body: { schema: ticketSchema },
    responses: { 200: { description: 'The ticket.', schema: ticketSchema } },
    problems: [
      401,
      {
        status: 409,
        codes: ['version_conflict'],
        description: '`version_conflict`: the ticket has changed.',
        members: { ticket: ticketSchema },
      },
      422,
      429,
    ],
  },
  {
    method: 'GET',
    path: '/tickets/',
    id: 'listTickets',
    summary: 'List tickets',
    tags: ['tickets'],
    query: z.strictObject({ limit: z.string().regex(/^\d+$/).transform(Number).optional() }),
    responses: { 200: { description: 'The newest.', schema: z.array(ticketSchema) } },
    problems: [422],
  },
  {
    method: 'POST',
    path: '/token',
    id: 'signIn',
    summary: 'Sign in',
    description: 'Takes a *form* too.',
    tags: ['tokens'],
    body: {
      schema: z.object({ email: z.string(), password: z.string() }).meta({ id: 'PasswordGrant' }),
      form: z.object({ username: z.string(), password: z.string() }).meta({ id: 'PasswordGrantForm' }),
    },
    responses: { 200: { description: 'A token.', schema: z.object({ access_token: z.string() }) } },
    problems: [401, 422, 429],
    oauth: true,
  },
];
