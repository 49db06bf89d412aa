import type { RequestOrigin } from '@tessera/service-kit';
import type { Database } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { SignInAddress, SignInRepository } from '../sign-in/sign-in.repository.ts';
import { endedSessions, endSessions } from '../sso/sso-session.repository.ts';
import {
  absoluteSeconds,
  idleSeconds,
  passwordLevel,
  passwordMethods,
  sessionsMax,
} from '../sso/sso-session.ts';

/** Maximum number of codes of a person at a client that are valid at the same time. */
const codesMax = 100;
const codeSeconds = 60;

/** The code that a valid request gets. */
export interface CodeToIssue {
  codeHash: Uint8Array;
  clientId: string;
  redirectUri: string;
  codeChallenge: string | null;
  nonce: string | null;
  scope: readonly string[];
  resource: string | null;
  /** What the person must have allowed; null if the client is first-party. */
  consent: readonly string[] | null;
}

/** What the session of the browser may be. */
export interface SessionDemands {
  tokenHash: Uint8Array;
  /** In seconds since the sign-in. */
  maxAge: number | null;
  /** The id of the identity that the client expects. */
  subject: string | null;
}

/** What a request found. No member is true without the ones before it. */
export interface Judgement {
  identityId: string;
  email: string;
  /** Whether the sign-in is of the expected person and recent enough. */
  isWanted: boolean;
  isConsented: boolean;
  isIssued: boolean;
}

/** The sign-in of a browser that is opened. */
export interface NewSsoSession {
  id: string;
  tokenHash: Uint8Array;
  /** The session of the browser before. */
  previousHash: Uint8Array | undefined;
}

/** What the password of a person has opened. `tells`: clients of another session get logout tokens. */
export type OpenedSession = Judgement & { tells: boolean };

/** Issues codes, for a browser that is signed in and for one that signs in. */
export class AuthorizationRepository {
  readonly #database: Database;
  readonly #signIns: SignInRepository;
  readonly #sessionsValidAfter: Date;

  constructor(
    database: Database,
    signIns: SignInRepository,
    { sessionsValidAfter }: { sessionsValidAfter: Date },
  ) {
    this.#database = database;
    this.#signIns = signIns;
    this.#sessionsValidAfter = sessionsValidAfter;
  }

  /**
   * Issues a code if the session permits it, in one statement. `grant`: what the person allows the client with this request.
   * Returns undefined if the browser is not signed in.
   */
  async authorize(
    code: CodeToIssue,
    { tokenHash, maxAge, subject }: SessionDemands,
    origin: RequestOrigin,
    { grants = false }: { grants?: boolean } = {},
  ): Promise<Judgement | undefined> {
    const { clientId, consent } = code;
    const rows = await this.#database.$queryRaw<Judgement[]>`
      WITH session AS (
        SELECT s.id, s.identity_id, s.session_epoch, s.auth_time, s.amr, s.acr, s.expires_at, i.email,
               (${maxAge}::int IS NULL OR s.auth_time >= now() - ${maxAge}::int * interval '1 second')
               AND (${subject}::uuid IS NULL OR s.identity_id = ${subject}::uuid) AS wanted
          FROM sso_sessions s JOIN identities i ON i.id = s.identity_id
         WHERE s.token_hash = ${tokenHash} AND s.ended_at IS NULL AND s.idle_expires_at > now() AND s.expires_at > now()
           AND s.created_at >= ${this.#sessionsValidAfter}::timestamptz
           AND i.deleted_at IS NULL AND i.is_active AND i.session_epoch = s.session_epoch
      ), judged AS (
        SELECT *, wanted AND (${grants}::boolean OR ${isConsented(code)}) AS consented FROM session
      ), granted AS (
        INSERT INTO consents AS c (identity_id, client_id, scope)
        SELECT identity_id, ${clientId}::uuid, ${consent}::text[] FROM judged
         WHERE ${grants}::boolean AND wanted AND ${consent}::text[] IS NOT NULL
        ON CONFLICT (identity_id, client_id) DO UPDATE
          SET scope = ARRAY(SELECT DISTINCT unnest(c.scope || excluded.scope)), granted_at = now()
        RETURNING identity_id
      ), audited AS (
        INSERT INTO audit_events (type, outcome, actor, identity_id, ip, user_agent, request_id, details)
        SELECT 'consent.granted', 'success', 'user', identity_id, ${origin.ip}, ${origin.userAgent}, ${origin.requestId},
               jsonb_build_object('client', ${clientId}::text, 'scope', ${consent}::text[])
          FROM granted
      ), used AS (
        UPDATE sso_sessions s SET last_used_at = now(),
               idle_expires_at = least(now() + ${idleSeconds}::int * interval '1 second', s.expires_at)
          FROM judged WHERE s.id = judged.id AND s.last_used_at < now() - interval '1 minute'
      ), issued AS (${insertCode(code)} FROM judged WHERE consented AND ${isBelowLimit(code)} RETURNING 1)
      SELECT identity_id AS "identityId", email, wanted AS "isWanted", consented AS "isConsented",
             EXISTS (SELECT FROM issued) AS "isIssued"
        FROM judged`;
    return rows[0];
  }

  /**
   * Opens the session of a browser after its password was verified, and issues the code of its request, if there is one.
   * Returns undefined if the sessions of the identity have ended since the password was read.
   *
   * If the browser is signed in as the same person, its session goes on with another cookie: the applications in it know its id
   * (`sid`), and a sign-out must reach them all. The session of another person ends wholly, and so does the oldest of too many.
   * A session is found by the cookie in a subquery, so that one of two parallel sign-ins, which waits for the row, finds it still.
   */
  async signIn(
    candidate: { id: string; sessionEpoch: number },
    address: SignInAddress,
    origin: RequestOrigin,
    { session, code }: { session: NewSsoSession; code: CodeToIssue | null },
  ): Promise<OpenedSession | undefined> {
    const previous = Prisma.sql`(SELECT id FROM sso_sessions WHERE token_hash = ${session.previousHash ?? null})`;
    const issued =
      code === null
        ? Prisma.sql`issued AS (SELECT 1 WHERE false)`
        : Prisma.sql`issued AS (
            ${insertCode(code)} FROM (SELECT * FROM opened AS session WHERE ${isConsented(code)}) AS judged
             WHERE ${isBelowLimit(code)} RETURNING 1)`;
    const rows = await this.#signIns.open<OpenedSession>(
      { identityId: candidate.id, sessionEpoch: candidate.sessionEpoch },
      address,
      origin,
      {
        steps: Prisma.sql`renewed AS (
          UPDATE sso_sessions s SET token_hash = ${session.tokenHash}::bytea, auth_time = now(), amr = ${passwordMethods}::text[],
                 acr = ${passwordLevel}, created_at = now(), last_used_at = now(), idle_expires_at = ${idleEnd},
                 expires_at = ${absoluteEnd}, created_ip = ${origin.ip}, user_agent = ${origin.userAgent}
            FROM owner
           WHERE s.id = ${previous} AND s.identity_id = owner.id AND s.ended_at IS NULL
             AND s.session_epoch = owner.session_epoch AND s.created_at >= ${this.#sessionsValidAfter}::timestamptz
          RETURNING s.*
        ), created AS (
          INSERT INTO sso_sessions (id, token_hash, identity_id, session_epoch, amr, acr, idle_expires_at, expires_at,
                                    created_ip, user_agent)
          SELECT ${session.id}::uuid, ${session.tokenHash}::bytea, id, session_epoch, ${passwordMethods}::text[],
                 ${passwordLevel}, ${idleEnd}, ${absoluteEnd}, ${origin.ip}, ${origin.userAgent}
            FROM owner WHERE NOT EXISTS (SELECT FROM renewed)
          RETURNING *
        ), opened AS (
          TABLE renewed UNION ALL TABLE created
        ), ${endSessions(Prisma.sql`EXISTS (SELECT FROM owner) AND id NOT IN (SELECT id FROM renewed) AND (
             id = ${previous} OR id IN (
               SELECT id FROM sso_sessions WHERE identity_id = ${candidate.id}::uuid AND ended_at IS NULL
                ORDER BY created_at DESC OFFSET ${sessionsMax - 1}))`)}, ${issued}`,
        audit: Prisma.sql`
          SELECT 'sso.opened', 'success', 'user', identity_id, ${origin.ip}, ${origin.userAgent}, ${origin.requestId},
                 jsonb_strip_nulls(jsonb_build_object('session', id, 'client', ${code?.clientId ?? null}::text))
            FROM opened
          UNION ALL ${endedSessions(origin)}`,
        columns: Prisma.sql`id AS "identityId", email, true AS "isWanted",
          ${code === null ? Prisma.sql`true` : Prisma.sql`(SELECT ${isConsented(code)} FROM opened AS session)`} AS "isConsented",
          EXISTS (SELECT FROM issued) AS "isIssued", EXISTS (SELECT FROM told) AS tells`,
      },
    );
    return rows[0];
  }
}

const idleEnd = Prisma.sql`now() + ${idleSeconds}::int * interval '1 second'`;
const absoluteEnd = Prisma.sql`now() + ${absoluteSeconds}::int * interval '1 second'`;

/** Whether the person of `session` has allowed what the client asks for. */
function isConsented({ clientId, consent }: CodeToIssue): Prisma.Sql {
  return Prisma.sql`(${consent}::text[] IS NULL OR EXISTS (
    SELECT FROM consents k WHERE k.identity_id = session.identity_id AND k.client_id = ${clientId}::uuid
       AND k.scope @> ${consent}::text[]))`;
}

/** An INSERT whose source is the session `judged`; without its FROM. */
function insertCode(code: CodeToIssue): Prisma.Sql {
  return Prisma.sql`INSERT INTO authorization_codes
    (code_hash, client_id, identity_id, session_epoch, sso_session_id, redirect_uri, code_challenge, nonce, scope,
     resource, auth_time, amr, acr, expires_at)
    SELECT ${code.codeHash}::bytea, ${code.clientId}::uuid, identity_id, session_epoch, id, ${code.redirectUri},
           ${code.codeChallenge}, ${code.nonce}, ${code.scope}::text[], ${code.resource}, auth_time, amr, acr,
           now() + ${codeSeconds}::int * interval '1 second'`;
}

// Links of other pages can make a browser ask for codes, for each client apart.
function isBelowLimit({ clientId }: CodeToIssue): Prisma.Sql {
  return Prisma.sql`(SELECT count(*) FROM (
    SELECT FROM authorization_codes k WHERE k.identity_id = judged.identity_id AND k.expires_at > now()
       AND k.client_id = ${clientId}::uuid AND k.used_at IS NULL LIMIT ${codesMax}
  ) AS live) < ${codesMax}`;
}
