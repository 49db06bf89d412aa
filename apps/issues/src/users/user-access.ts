import { ProblemError } from '@tessera/service-kit';
import type { Actor } from '../issue-core/actor.ts';

/** Flags that only a superuser may set or clear. */
const privilegeFlags = ['is_staff', 'is_superuser'] as const;

/** The fields of a person that decide who may administer them. */
export interface Privileges {
  isStaff: boolean;
  isSuperuser: boolean;
}

/**
 * Staff may administer users without privileges; superusers may administer all users. Otherwise staff could gain
 * privileges by setting a flag or the password of another staff member.
 */
export function assertMayAdminister(actor: Actor, person: Privileges | undefined, changes: object): void {
  if (actor.isSuperuser) return;
  if (!actor.isStaff) throw forbidden('Only staff may administer users and applications.');
  if (person?.isStaff || person?.isSuperuser)
    throw forbidden('Only a superuser may change staff and superusers.');
  const setsFlag = privilegeFlags.some((flag) => Reflect.get(changes, flag) !== undefined);
  if (setsFlag) throw forbidden('Only a superuser may set is_staff and is_superuser.');
}

/** Refuses callers who may not administer any user, before their input is read. */
export function assertMayAdministerUsers(actor: Actor): void {
  assertMayAdminister(actor, undefined, {});
}

/** Whether the actor may see all fields of a person. Other actors see only the id and the username. */
export function maySeeAll(actor: Actor, id?: string): boolean {
  return actor.isStaff || actor.isSuperuser || actor.id === id;
}

function forbidden(detail: string): ProblemError {
  return new ProblemError({ status: 403, code: 'forbidden', detail });
}
