import {
  type CreateIdentity,
  emailSchema,
  fieldErrorSchema,
  type Identity,
  identitySchema,
  type UpdateIdentity,
} from '@tessera/contracts';
import { ProblemError, validationProblem } from '@tessera/service-kit';
import { z } from 'zod';
import { identityAnswerInvalid, isOutage, outcomeUnknown } from './identity-problem.ts';
import {
  type BreakerState,
  type IdentityReply,
  IdentityTransport,
  type IdentityTransportOptions,
} from './identity-transport.ts';

/** Between which moments of our clock an answer became true. */
export interface Observation {
  askedAt: Date;
  answeredAt: Date;
}

/** An identity, or that there is none. Callers who asked together get one observation: of the request that was sent. */
export interface Lookup extends Observation {
  identity: Identity | undefined;
}

export interface Written extends Observation {
  identity: Identity;
}

const refusalSchema = z.looseObject({
  code: z
    .string()
    .regex(/^[a-z_]{1,64}$/)
    .catch('identity_conflict'),
  detail: z.string().max(300).catch('The identity service refused the request.'),
  errors: z.array(fieldErrorSchema).max(50).catch([]),
});

/**
 * Identity's internal API (identity-service.md 4.2). A request that cannot be carried out throws a problem: 503
 * `identity_unavailable`, 502 `identity_credentials_rejected` or `identity_answer_invalid`; what identity refuses for
 * the client's reasons (404, 409, 422) keeps its status, code and field names.
 */
export class IdentityClient {
  readonly #transport: IdentityTransport;
  readonly #inFlight = new Map<string, Promise<Lookup>>();

  constructor(options: IdentityTransportOptions) {
    this.#transport = new IdentityTransport(options);
  }

  /** How identity is taken to be, for a service that goes on without it. */
  status(): { breaker: BreakerState } {
    return { breaker: this.#transport.breakerState };
  }

  findById(id: string, requestId?: string): Promise<Lookup> {
    return this.#find(pathOf(id), requestId);
  }

  async findByEmail(email: string, requestId?: string): Promise<Lookup> {
    // Nobody has what is no e-mail; and dots alone would be taken for a folder of the path.
    if (!emailSchema.safeParse(email).success) return { identity: undefined, ...atOnce() };
    return this.#find(`/internal/identities/by-email/${encode(email)}`, requestId);
  }

  findBySso(provider: string, ssoId: string, requestId?: string): Promise<Lookup> {
    const query = `provider=${encode(provider)}&sso_id=${encode(ssoId)}`;
    return this.#find(`/internal/identities/by-sso/lookup?${query}`, requestId);
  }

  /**
   * Creates an identity. An unknown outcome is looked up by its e-mail before anything is said: an identity that was
   * made since the request began, and is as it was to be, is this one. It can only be another where somebody else made
   * the same at the same moment; then one of both passwords holds, as with two changes at once. Whatever is less
   * certain is 503 `create_outcome_unknown`.
   */
  async create(body: CreateIdentity, requestId?: string): Promise<Written> {
    const startedAt = new Date();
    try {
      const reply = await this.#transport.send({
        method: 'POST',
        path: '/internal/identities',
        body,
        requestId,
      });
      return written(reply);
    } catch (error) {
      if (!isOutage(error) || error.cause.isUnsent) throw error;
      const { identity, ...observation } = await this.findByEmail(body.email, requestId).catch(() => {
        throw outcomeUnknown(error);
      });
      if (identity === undefined || !isMadeFrom(body, identity, startedAt)) throw outcomeUnknown(error);
      return { identity, ...observation };
    }
  }

  async update(id: string, body: UpdateIdentity, requestId?: string): Promise<Written> {
    return written(await this.#transport.send({ method: 'PUT', path: pathOf(id), body, requestId }));
  }

  /** Soft-deletes. */
  async delete(id: string, requestId?: string): Promise<Observation> {
    const reply = await this.#transport.send({ method: 'DELETE', path: pathOf(id), requestId });
    if (reply.status < 200 || reply.status > 299) throw refusal(reply);
    return reply;
  }

  // Callers that ask the same at the same time share one request.
  #find(path: string, requestId: string | undefined): Promise<Lookup> {
    const asked = this.#inFlight.get(path);
    if (asked !== undefined) return asked;
    const answer = this.#get(path, requestId).finally(() => this.#inFlight.delete(path));
    this.#inFlight.set(path, answer);
    return answer;
  }

  async #get(path: string, requestId: string | undefined): Promise<Lookup> {
    const reply = await this.#transport.send({ method: 'GET', path, requestId });
    const { askedAt, answeredAt } = reply;
    if (reply.status === 200) return { identity: parseIdentity(reply.data), askedAt, answeredAt };
    if (isUnknownIdentity(reply)) return { identity: undefined, askedAt, answeredAt };
    throw refusal(reply);
  }
}

function pathOf(id: string): string {
  return `/internal/identities/${encode(id)}`;
}

// A lone surrogate cannot be encoded; what stands for it names nobody.
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

function atOnce(): Observation {
  const now = new Date();
  return { askedAt: now, answeredAt: now };
}

function written(reply: IdentityReply): Written {
  if (reply.status !== 200 && reply.status !== 201) throw refusal(reply);
  return { identity: parseIdentity(reply.data), askedAt: reply.askedAt, answeredAt: reply.answeredAt };
}

function parseIdentity(data: unknown): Identity {
  const parsed = identitySchema.safeParse(data);
  if (parsed.success) return parsed.data;
  throw identityAnswerInvalid('an identity that is none');
}

// Somebody's 404 is not enough to take an identity for gone: a wrong address answers with a page, or without a route.
function isUnknownIdentity({ status, data }: IdentityReply): boolean {
  if (status !== 404) return false;
  const parsed = refusalSchema.safeParse(data);
  return parsed.success && parsed.data.code !== 'not_found';
}

// What identity refuses for the client's reasons goes on to the client, with the fields that it named.
function refusal(reply: IdentityReply): ProblemError {
  const { status } = reply;
  const parsed = refusalSchema.safeParse(reply.data);
  if (!parsed.success) return identityAnswerInvalid(`answered ${status}`);
  const { code, detail, errors } = parsed.data;
  if (status === 422)
    return validationProblem(errors.length > 0 ? errors : [{ field: 'body', message: detail }]);
  if (status === 409) return new ProblemError({ status, code, detail });
  if (isUnknownIdentity(reply)) {
    return new ProblemError({ status: 404, code: 'user_not_found', detail: 'There is no such user.' });
  }
  return identityAnswerInvalid(`answered ${status}`);
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

function isMadeFrom(body: CreateIdentity, identity: Identity, startedAt: Date): boolean {
  const isAlike = comparedFields.every((name) => body[name] === undefined || body[name] === identity[name]);
  const isNew =
    Date.parse(identity.created_at) >= startedAt.getTime() && identity.updated_at === identity.created_at;
  return isNew && isAlike && identity.email.toLowerCase() === body.email.toLowerCase();
}
