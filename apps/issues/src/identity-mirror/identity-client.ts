import {
  type ChangePassword,
  type CreateIdentity,
  canonicalEmail,
  fieldErrorSchema,
  type Identity,
  identityIdsMax,
  identitySchema,
  normalEmail,
  pageSizeMax,
  type UpdateIdentity,
} from '@tessera/contracts';
import type { RequestOf } from '@tessera/contracts/requests';
import { ProblemError, validationProblem } from '@tessera/service-kit';
import { z } from 'zod';
import { createOutcomeUnknown, identityAnswerInvalid, isOutage } from './identity-problem.ts';
import {
  type BreakerState,
  type IdentityReply,
  IdentityTransport,
  type IdentityTransportOptions,
} from './identity-transport.ts';

/** When a request was sent and when its response arrived, by our clock. */
export interface Observation {
  askedAt: Date;
  answeredAt: Date;
}

/** The result of a lookup; `identity` is undefined if there is none. Concurrent lookups share one request. */
export interface Lookup extends Observation {
  identity: Identity | undefined;
}

/** A page of the identities, sorted by id. */
export interface IdentityPage extends Observation {
  identities: Identity[];
}

/** A page of identity's events. */
export interface EventsPage {
  /** The changed identities, each once. */
  identityIds: string[];
  endedSessions: EndedSessions[];
  next: string;
  /** The ids of identity's deleted signing keys. */
  deletedKeys: string[];
  /** Whether events after the cursor are missing: all identities are to be read again. */
  isReset: boolean;
  /** Whether no further event is known. */
  isEnd: boolean;
}

export interface WriteResult extends Observation {
  identity: Identity;
}

// The types of a later release of identity concern identities, too.
const endedSchema = z.object({
  identity_id: z.guid(),
  session_id: z.guid().nullable(),
  // Absent for a single session.
  session_epoch: z.int().nonnegative().optional(),
});
/** A session that has ended at identity, or all sessions of the identity (null). */
export type EndedSessions = z.output<typeof endedSchema>;
const eventsSchema = z.object({
  events: z.array(z.object({ type: z.string(), data: endedSchema.partial() })),
  next: z.string().min(1).max(200),
  reset: z.boolean(),
  // Absent in earlier releases of identity.
  deleted_keys: z.array(z.string().max(200)).max(100).default([]),
});

const conflictSchema = z
  .enum(['email_conflict', 'sso_conflict', 'identity_conflict'])
  .catch('identity_conflict');
const problemSchema = z.looseObject({
  code: z.string().catch(''),
  detail: z.string().max(300).catch('The identity service refused the request.'),
  errors: z.array(fieldErrorSchema).max(50).catch([]),
});

/**
 * Client of identity's internal API (docs/spec/identity-service.md 4.2). Throws the problems 503 `identity_unavailable`, 502
 * `identity_credentials_rejected` and 502 `identity_answer_invalid`. A 404, 409 or 422 of identity keeps its status,
 * code and field names.
 */
export class IdentityClient {
  readonly #transport: IdentityTransport;
  readonly #inFlight = new Map<string, Promise<Lookup>>();

  constructor(options: IdentityTransportOptions) {
    this.#transport = new IdentityTransport(options);
  }

  /** The state of the circuit breaker. */
  status(): { breaker: BreakerState } {
    return { breaker: this.#transport.breakerState };
  }

  findById(id: string, requestId?: string): Promise<Lookup> {
    return this.#find(id, () => this.#transport.send('getIdentity', { params: { id }, requestId }));
  }

  async findByEmail(text: string, requestId?: string): Promise<Lookup> {
    const email = normalEmail(text);
    // No identity has an invalid e-mail. Also, `.` and `..` would be resolved as path segments.
    if (email === undefined) return { identity: undefined, ...observedNow() };
    const params = { email };
    return this.#find(email, () => this.#transport.send('findIdentityByEmail', { params, requestId }));
  }

  findBySso(provider: string, ssoId: string, requestId?: string): Promise<Lookup> {
    const query = { provider, sso_id: ssoId };
    const key = JSON.stringify(query);
    return this.#find(key, () => this.#transport.send('findIdentityBySso', { query, requestId }));
  }

  /** Lists the identities with an id greater than `after`. */
  list({ after, limit }: { after: string | null; limit: number }): Promise<IdentityPage> {
    return this.#list({ limit, after: after ?? undefined });
  }

  /** Reads identities by their ids, at most `identityIdsMax`. Unknown and deleted ones are not in the result. */
  findMany(ids: readonly string[]): Promise<IdentityPage> {
    return this.#list({ limit: identityIdsMax, ids: ids.join() });
  }

  /** Reads the events after a cursor; null for the end of the feed. */
  async readEvents(cursor: string | null): Promise<EventsPage> {
    const query = { limit: pageSizeMax, after: cursor ?? 'now' };
    const { status, data } = await this.#transport.send('listIdentityEvents', { query, isPoll: true });
    if (status === 422 && cursor !== null) {
      // A cursor of another release.
      return { ...(await this.readEvents(null)), isReset: true };
    }
    const parsed = eventsSchema.safeParse(data);
    if (status !== 200 || !parsed.success) throw identityAnswerInvalid(`responded ${status}, no events`);
    const { events, next, reset, deleted_keys: deletedKeys } = parsed.data;
    const changes = events.filter(({ type }) => type !== 'identity.sessions_ended');
    return {
      endedSessions: events.flatMap(({ data }) => endedSchema.safeParse(data).data ?? []),
      identityIds: [...new Set(changes.flatMap(({ data: { identity_id } }) => identity_id ?? []))],
      next,
      deletedKeys,
      isReset: reset,
      isEnd: events.length < pageSizeMax,
    };
  }

  /**
   * Creates an identity. If the response is lost, looks up the e-mail: an identity that was created after the request
   * started and has the requested fields counts as created by it. (A concurrent identical request may have created it
   * instead; then the password of one of both requests is set, as with concurrent updates.) Otherwise throws 503
   * `create_outcome_unknown`.
   */
  async create(body: CreateIdentity, requestId?: string): Promise<WriteResult> {
    const startedAt = new Date();
    try {
      return parseWriteResult(await this.#transport.send('createIdentity', { body, requestId }));
    } catch (error) {
      if (!isOutage(error) || error.cause.isUnsent) throw error;
      const { identity, ...observation } = await this.findByEmail(body.email, requestId).catch(() => {
        throw createOutcomeUnknown(error);
      });
      if (identity === undefined || !matchesRequest(body, identity, startedAt))
        throw createOutcomeUnknown(error);
      return { identity, ...observation };
    }
  }

  async update(id: string, body: UpdateIdentity, requestId?: string): Promise<WriteResult> {
    const call = { params: { id }, body, requestId };
    return parseWriteResult(await this.#transport.send('updateIdentity', call));
  }

  /**
   * Changes a password. Throws a 422 problem for a wrong current password or an unacceptable new password, and 429
   * after too many attempts.
   */
  async changePassword(id: string, body: ChangePassword, requestId?: string): Promise<void> {
    const call = { params: { id }, body, requestId, isLimitedByPerson: true };
    const reply = await this.#transport.send('changeIdentityPassword', call);
    if (reply.status !== 204) throw toProblem(reply);
  }

  /** Soft-deletes an identity. */
  async delete(id: string, requestId?: string): Promise<Observation> {
    const reply = await this.#transport.send('deleteIdentity', { params: { id }, requestId });
    if (reply.status < 200 || reply.status > 299) throw toProblem(reply);
    return reply;
  }

  async #list(query: RequestOf<'listIdentities'>['query']): Promise<IdentityPage> {
    const reply = await this.#transport.send('listIdentities', { query, isList: true });
    const { status, data, askedAt, answeredAt } = reply;
    const parsed = z.array(identitySchema).safeParse(data);
    if (status !== 200 || !parsed.success) throw identityAnswerInvalid(`responded ${status}, no list`);
    return { identities: parsed.data, askedAt, answeredAt };
  }

  // Concurrent lookups with the same key share one request.
  #find(key: string, send: () => Promise<IdentityReply>): Promise<Lookup> {
    const running = this.#inFlight.get(key);
    if (running !== undefined) return running;
    const lookup = this.#get(send).finally(() => this.#inFlight.delete(key));
    this.#inFlight.set(key, lookup);
    return lookup;
  }

  async #get(send: () => Promise<IdentityReply>): Promise<Lookup> {
    const reply = await send();
    const { askedAt, answeredAt } = reply;
    if (reply.status === 200) return { identity: parseIdentity(reply.data), askedAt, answeredAt };
    if (isUnknownIdentity(reply)) return { identity: undefined, askedAt, answeredAt };
    throw toProblem(reply);
  }
}

function observedNow(): Observation {
  const now = new Date();
  return { askedAt: now, answeredAt: now };
}

function parseWriteResult(reply: IdentityReply): WriteResult {
  if (reply.status !== 200 && reply.status !== 201) throw toProblem(reply);
  return { identity: parseIdentity(reply.data), askedAt: reply.askedAt, answeredAt: reply.answeredAt };
}

function parseIdentity(data: unknown): Identity {
  const parsed = identitySchema.safeParse(data);
  if (parsed.success) return parsed.data;
  throw identityAnswerInvalid('not an identity');
}

// A 404 without one of identity's codes may come from a wrong IDENTITY_URL and does not prove that the identity is gone.
function isUnknownIdentity({ status, data }: IdentityReply): boolean {
  if (status !== 404) return false;
  const parsed = problemSchema.safeParse(data);
  return parsed.success && parsed.data.code !== 'not_found';
}

// Passes identity's 404, 409 and 422 on to the client, with the field names.
function toProblem(reply: IdentityReply): ProblemError {
  const { status } = reply;
  const parsed = problemSchema.safeParse(reply.data);
  if (!parsed.success) return identityAnswerInvalid(`responded ${status}`);
  const { code, detail, errors } = parsed.data;
  if (status === 422)
    return validationProblem(errors.length > 0 ? errors : [{ field: 'body', message: detail }]);
  if (status === 409) return new ProblemError({ status, code: conflictSchema.parse(code), detail });
  if (status === 429) {
    const headers = {
      'Retry-After': /^\d{1,6}$/.test(reply.retryAfter ?? '') ? `${reply.retryAfter}` : '60',
    };
    return new ProblemError({ status, code: 'too_many_requests', detail, headers });
  }
  if (isUnknownIdentity(reply)) {
    return new ProblemError({ status: 404, code: 'user_not_found', detail: 'User not found.' });
  }
  return identityAnswerInvalid(`responded ${status}`);
}

const comparedFields = [
  'username',
  'sso_provider',
  'sso_id',
  'is_active',
  'is_verified',
  'is_staff',
  'is_superuser',
] as const;

function matchesRequest(body: CreateIdentity, identity: Identity, startedAt: Date): boolean {
  const hasRequestedFields = comparedFields.every(
    (name) => body[name] === undefined || body[name] === identity[name],
  );
  const isNew =
    Date.parse(identity.created_at) >= startedAt.getTime() && identity.updated_at === identity.created_at;
  return isNew && hasRequestedFields && canonicalEmail(identity.email) === canonicalEmail(body.email);
}
