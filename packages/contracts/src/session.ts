import { z } from 'zod';
import { uuid } from './text.ts';

const timestamp = z.iso.datetime().describe('ISO 8601, UTC.');

/** A session: one sign-in and all the refresh tokens that stem from it. */
export const sessionSchema = z
  .object({
    id: uuid(),
    created_at: timestamp,
    last_used_at: timestamp.describe('When it was last refreshed, or began.'),
    expires_at: timestamp.describe('When it ends in any case.'),
    idle_expires_at: timestamp.describe('When it ends unless it is refreshed before.'),
    created_ip: z.string().nullable().describe('The address that it began from.'),
    user_agent: z
      .string()
      .nullable()
      .describe('The browser or program that it began in, as that called itself.'),
  })
  .meta({ id: 'Session' });
export type Session = z.infer<typeof sessionSchema>;

export const sessionParamsSchema = z.object({ id: uuid(), session_id: uuid() });
