import { z } from 'zod';
import { nextLinkHeader, operation } from '../operation.ts';
import { cursor, instant, limit } from '../query-value.ts';
import { uuid } from '../text.ts';

/** What the audit trail of the identity service knows of. */
export const auditTypes = [
  'token.issued',
  'token.refused',
  'refresh.rotated',
  'refresh.refused',
  'refresh.reuse_in_leeway',
  'refresh.reuse_detected',
  'family.revoked',
  'sessions.revoked',
  'hash.upgraded',
  'identity.created',
  'identity.updated',
  'identity.password_changed',
  'identity.activated',
  'identity.deactivated',
  'identity.deleted',
] as const;
export type AuditType = (typeof auditTypes)[number];

export const auditOutcomes = ['success', 'failure'] as const;
export const auditActors = ['user', 'service', 'system'] as const;

/** An event of the audit trail. Of another release it may have a type that this list does not know. */
export const auditEventSchema = z
  .object({
    id: z.int().positive().describe('Unique; grows with time.'),
    at: z.iso.datetime().describe('ISO 8601, UTC.'),
    type: z.string().meta({ examples: [...auditTypes] }),
    outcome: z.enum(auditOutcomes),
    actor: z.enum(auditActors).describe('Who caused it: a person, a trusted backend, or the service itself.'),
    identity_id: uuid().nullable().describe('Whom it is about; null where nobody was found.'),
    ip: z.string().nullable(),
    user_agent: z.string().nullable(),
    request_id: z.string().nullable(),
    details: z.record(z.string(), z.unknown()).describe('Names and reasons; never a secret.'),
  })
  .meta({ id: 'AuditEvent' });
export type AuditEvent = z.infer<typeof auditEventSchema>;

/** GET /internal/audit-events: every parameter is known, or refused by its name. */
export const auditQuerySchema = z.strictObject({
  identity_id: uuid().optional(),
  type: z.enum(auditTypes).optional(),
  outcome: z.enum(auditOutcomes).optional(),
  actor: z.enum(auditActors).optional(),
  after: instant.optional().describe('At this moment or later.'),
  before: instant.optional().describe('Earlier than this moment.'),
  limit: limit.optional(),
  cursor: cursor.optional(),
});
export type AuditQuery = z.output<typeof auditQuerySchema>;

export const listAuditEvents = operation({
  id: 'listAuditEvents',
  method: 'GET',
  path: '/internal/audit-events',
  summary: 'The audit trail, newest first',
  description:
    'Events of a deleted identity are found by its id as well. An event appears when its change is committed, a moment after its time: who follows the trail asks again from a little before.',
  tags: ['Internal identity API'],
  security: ['serviceToken'],
  query: auditQuerySchema,
  responses: {
    200: { description: 'A page of it.', schema: z.array(auditEventSchema), headers: nextLinkHeader },
  },
  problems: [403, 422],
});
