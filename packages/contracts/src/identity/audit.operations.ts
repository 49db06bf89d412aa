import { z } from 'zod';
import { nextLinkHeader, operation } from '../operation.ts';
import { cursor, instant, limit } from '../query-value.schemas.ts';
import { uuid } from '../text.schemas.ts';
import { serviceTokenRefused } from './identity.schemas.ts';

/** Types of events in the audit trail of the identity service. */
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
  'identity.password_refused',
  'identity.activated',
  'identity.deactivated',
  'identity.deleted',
  'client.created',
  'client.updated',
  'client.secret_rotated',
  'client.disabled',
  'client.redirect_refused',
  'sso.opened',
  'sso.ended',
  'consent.granted',
  'code.reuse_detected',
  'logout.undelivered',
] as const;
export type AuditType = (typeof auditTypes)[number];

export const auditOutcomes = ['success', 'failure'] as const;
export const auditActors = ['user', 'service', 'system'] as const;

/** An event of the audit trail. Another release may have further types. */
export const auditEventSchema = z
  .object({
    id: z.int().positive().describe('Unique and increasing.'),
    at: z.iso.datetime().describe('ISO 8601, UTC.'),
    type: z.string().meta({ examples: [...auditTypes] }),
    outcome: z.enum(auditOutcomes),
    actor: z.enum(auditActors).describe('The cause: a user, a trusted backend, or the service itself.'),
    identity_id: uuid().nullable().describe('The identity of the event; null if none was found.'),
    ip: z.string().nullable(),
    user_agent: z.string().nullable(),
    request_id: z.string().nullable(),
    details: z.record(z.string(), z.unknown()).describe('Names and reasons; never secrets.'),
  })
  .meta({ id: 'AuditEvent' });
export type AuditEvent = z.infer<typeof auditEventSchema>;

/** GET /internal/audit-events. Unknown parameters are refused. */
export const auditQuerySchema = z.strictObject({
  identity_id: uuid().optional(),
  type: z.enum(auditTypes).optional(),
  outcome: z.enum(auditOutcomes).optional(),
  actor: z.enum(auditActors).optional(),
  after: instant.optional().describe('At or after this time.'),
  before: instant.optional().describe('Before this time.'),
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
    'Also returns events of deleted identities. An event becomes visible when its change is committed, shortly after its `at`; clients that poll should overlap their queries.',
  tags: ['Internal identity API'],
  security: ['serviceToken'],
  query: auditQuerySchema,
  responses: {
    200: { description: 'A page of events.', schema: z.array(auditEventSchema), headers: nextLinkHeader },
  },
  problems: [serviceTokenRefused, 422],
});
