import type { AuditType } from '@tessera/contracts';
import { ProblemError, type RequestOrigin } from '@tessera/service-kit';
import type { AuditEvent } from '../audit/audit-event.ts';
import { identityNotFoundProblem } from '../identity-not-found.ts';
import type { PasswordHasher } from '../passwords/password-hasher.ts';
import type { PasswordPolicy } from '../passwords/password-policy.ts';
import type {
  IdentityConflict,
  IdentityPage,
  IdentityRepository,
  StoredChanges,
} from './identity.repository.ts';
import type { Identity, IdentityChanges, NewIdentity } from './identity.ts';

interface IdentityServiceDependencies {
  repository: IdentityRepository;
  hasher: PasswordHasher;
  passwordPolicy: PasswordPolicy;
}

/** As long as a day, so that a password that was printed or sent and forgotten opens nothing. */
const temporaryPasswordMs = 86_400_000;

/** Implements docs/spec/identity-service.md 3.1 and 4.2. */
export class IdentityService {
  readonly #repository: IdentityRepository;
  readonly #hasher: PasswordHasher;
  readonly #passwordPolicy: PasswordPolicy;

  constructor(dependencies: IdentityServiceDependencies) {
    this.#repository = dependencies.repository;
    this.#hasher = dependencies.hasher;
    this.#passwordPolicy = dependencies.passwordPolicy;
  }

  async create(identity: NewIdentity, origin: RequestOrigin, signal: AbortSignal): Promise<Identity> {
    const wantedUsername = localPart(identity.email);
    if (identity.password !== undefined) {
      this.#passwordPolicy.assertAcceptable(identity.password, {
        email: identity.email,
        username: identity.username ?? wantedUsername,
      });
    }
    const stored = { ...(await this.#withHash(identity, signal)), email: identity.email, wantedUsername };
    const result = await this.#repository.create(stored, (created) =>
      auditEvent('identity.created', created.id, origin, { fields: suppliedFields(identity) }),
    );
    if (typeof result === 'string') throw conflictProblem(result);
    return result;
  }

  /** docs/spec/identity-service.md 4.2.2: only supplied fields change. */
  async update(
    id: string,
    changes: IdentityChanges,
    origin: RequestOrigin,
    signal: AbortSignal,
  ): Promise<Identity> {
    const current = await this.find(id);
    if (suppliedFields(changes).length === 0) return current;
    if (changes.password !== undefined) {
      this.#passwordPolicy.assertAcceptable(changes.password, {
        email: changes.email ?? current.email,
        username: changes.username ?? current.username,
      });
    }
    const result = await this.#repository.update(id, await this.#withHash(changes, signal), {
      // ASVS 7.4.2, 7.4.3: a new password and a deactivation end every session.
      endSessions: changes.password !== undefined || changes.isActive === false,
      audit: auditEventsFor(changes, id, origin),
    });
    if (result === undefined) throw identityNotFoundProblem();
    if (typeof result === 'string') throw conflictProblem(result);
    return result;
  }

  async delete(id: string, origin: RequestOrigin): Promise<void> {
    const deleted = await this.#repository.softDelete(id, auditEvent('identity.deleted', id, origin));
    if (!deleted) throw identityNotFoundProblem();
  }

  /** Lists identities by id, starting after the given one. `search`: prefixes of words of their names and e-mail. */
  async list(page: IdentityPage): Promise<Identity[]> {
    return this.#repository.list(page);
  }

  async find(id: string): Promise<Identity> {
    return assertFound(await this.#repository.findById(id));
  }

  async findByEmail(email: string): Promise<Identity> {
    return assertFound(await this.#repository.findByEmail(email));
  }

  async findBySso(provider: string, ssoId: string): Promise<Identity> {
    return assertFound(await this.#repository.findBySso(provider, ssoId));
  }

  async #withHash(
    { password, isPasswordTemporary = false, ...changes }: IdentityChanges,
    signal: AbortSignal,
  ): Promise<StoredChanges> {
    if (password === undefined) return changes;
    const passwordHash = await this.#hasher.hash(password, signal);
    const passwordExpiresAt = isPasswordTemporary ? new Date(Date.now() + temporaryPasswordMs) : null;
    return { ...changes, passwordHash, passwordExpiresAt };
  }
}

// The default username: docs/spec/identity-service.md 2.8 requires preferred_username. A local part never exceeds its limit.
function localPart(email: string): string {
  return email.slice(0, email.lastIndexOf('@'));
}

function suppliedFields(changes: IdentityChanges): string[] {
  return Object.entries(changes)
    .filter(([, value]) => value !== undefined)
    .map(([field]) => field);
}

function auditEventsFor(changes: IdentityChanges, id: string, origin: RequestOrigin): AuditEvent[] {
  const events = [auditEvent('identity.updated', id, origin, { fields: suppliedFields(changes) })];
  if (changes.password !== undefined) events.push(auditEvent('identity.password_changed', id, origin));
  if (changes.isActive !== undefined) {
    events.push(auditEvent(changes.isActive ? 'identity.activated' : 'identity.deactivated', id, origin));
  }
  return events;
}

function auditEvent(
  type: AuditType,
  identityId: string,
  origin: RequestOrigin,
  details: Record<string, string[]> = {},
): AuditEvent {
  return { type, outcome: 'success', actor: 'service', identityId, origin, details };
}

function assertFound(identity: Identity | undefined): Identity {
  if (identity === undefined) throw identityNotFoundProblem();
  return identity;
}

function conflictProblem(conflict: IdentityConflict): ProblemError {
  return new ProblemError({
    status: 409,
    code: `${conflict}_conflict`,
    detail:
      conflict === 'email'
        ? 'Another identity has this e-mail.'
        : 'Another identity is linked to this SSO provider and id.',
  });
}
