import { type SessionDetails, sessionSchema } from '@tessera/contracts';
import { ProblemError } from '@tessera/service-kit';
import { z } from 'zod';
import { identityAnswerInvalid } from '../identity-mirror/identity-problem.ts';
import { IdentityTransport, type IdentityTransportOptions } from '../identity-mirror/identity-transport.ts';

const listMax = 100;
const sessionsSchema = z.array(sessionSchema);
const introspectionSchema = z.object({ sid: z.guid() });

/** Sessions of an identity, by identity's internal API (docs/spec/identity-service.md 4.2), with the service token. */
export class IdentitySessions {
  readonly #transport: IdentityTransport;

  /** With calls of its own, so that sessions do not delay look-ups of people. */
  constructor(options: IdentityTransportOptions) {
    this.#transport = new IdentityTransport(options);
  }

  /** Returns the id of a refresh token's session, or null if identity does not respond. */
  async idOf(refreshToken: string, requestId: string): Promise<string | null> {
    try {
      const body = { token: refreshToken, token_type_hint: 'refresh_token' };
      const reply = await this.#transport.send('introspectToken', { body, requestId });
      return introspectionSchema.safeParse(reply.data).data?.sid ?? null;
    } catch {
      return null;
    }
  }

  /** Lists the newest active sessions. */
  async list(identityId: string, requestId: string): Promise<SessionDetails[]> {
    const call = { params: { id: identityId }, query: { limit: listMax }, isList: true, requestId };
    const { status, data } = await this.#transport.send('listSessions', call);
    const parsed = sessionsSchema.safeParse(data);
    if (status !== 200 || !parsed.success) throw identityAnswerInvalid(`responded ${status}, no sessions`);
    return parsed.data;
  }

  /** Ends a session. Throws 404 `session_not_found`. */
  async revoke(identityId: string, sessionId: string, requestId: string): Promise<void> {
    const params = { id: identityId, session_id: sessionId };
    const { status } = await this.#transport.send('revokeSession', { params, requestId });
    if (status === 404) {
      throw new ProblemError({ status, code: 'session_not_found', detail: 'Session not found.' });
    }
    if (status !== 204) throw identityAnswerInvalid(`responded ${status}`);
  }

  /** Ends all sessions and access tokens of the identity. */
  async revokeAll(identityId: string, requestId: string): Promise<void> {
    const { status } = await this.#transport.send('revokeSessions', {
      params: { id: identityId },
      requestId,
    });
    if (status !== 204) throw identityAnswerInvalid(`responded ${status}`);
  }
}
