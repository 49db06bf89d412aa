import { ProblemError } from '@tessera/service-kit';
import type { Actor } from '../authentication/actor.ts';

/** The flags that only a superuser may give or take. */
const privilegeFlags = ['is_staff', 'is_superuser'] as const;

/** What decides about the administration of a person. */
export interface Privileges {
  isStaff: boolean;
  isSuperuser: boolean;
}

/**
 * Who may administer identities: staff those without privileges, superusers everybody. Staff who could set another
 * staff member's password, or a flag, could become them.
 */
export function assertMayAdminister(actor: Actor, person: Privileges | undefined, changes: object): void {
  if (actor.isSuperuser) return;
  if (!actor.isStaff) throw forbidden('Only staff may administer users.');
  if (person?.isStaff || person?.isSuperuser)
    throw forbidden('Only a superuser may change staff and superusers.');
  const setsFlag = privilegeFlags.some((flag) => Reflect.get(changes, flag) !== undefined);
  if (setsFlag) throw forbidden('Only a superuser may set is_staff and is_superuser.');
}

/** All fields are for staff and for the person; others see who somebody is. */
export function maySeeAll(actor: Actor, id?: string): boolean {
  return actor.isStaff || actor.isSuperuser || actor.id === id;
}

function forbidden(detail: string): ProblemError {
  return new ProblemError({ status: 403, code: 'forbidden', detail });
}
