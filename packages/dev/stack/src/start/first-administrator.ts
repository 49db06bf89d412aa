import { randomInt } from 'node:crypto';
import type { IdentityClient } from '@tessera/client/identity';
import type { DataFolder } from '../data-folder/data-folder.ts';
import { readPrivateFile } from '../data-folder/secret-file.ts';
import type { StackEnvironment } from '../environment.ts';

/** How a person signs in to the web app. */
export interface FirstAccount {
  /** Undefined if the oldest identity is no active administrator. */
  readonly email: string | undefined;
  /** Set only by the start that created the identity. It is temporary: the first sign-in replaces it, within a day. */
  readonly oneTimePassword?: string;
}

const firstAccount = {
  email: 'admin@example.com',
  username: 'admin',
  display_name: 'Administrator',
  is_verified: true,
  is_staff: true,
  is_superuser: true,
};

// Without characters that look alike.
const passwordCharacters = 'abcdefghjkmnpqrstuvwxyz23456789';

/** Four groups of five random characters: 99 bits. */
export function createOneTimePassword(): string {
  const group = () =>
    Array.from({ length: 5 }, () => passwordCharacters[randomInt(passwordCharacters.length)]).join('');
  return [group(), group(), group(), group()].join('-');
}

/** Creates an administrator if identity has no identities; otherwise finds the administrator of an earlier start. */
export async function ensureFirstAdministrator(identity: IdentityClient): Promise<FirstAccount> {
  const oldest = await findOldest(identity);
  if (oldest === undefined) {
    const oneTimePassword = createOneTimePassword();
    const { email } = await identity.create({
      ...firstAccount,
      password: oneTimePassword,
      password_is_temporary: true,
    });
    return { email, oneTimePassword };
  }
  return { email: oldest.is_superuser && oldest.is_active ? oldest.email : undefined };
}

/** The identity that was created first. Ids are UUIDs of version 7, so they are in the order of creation. */
export async function findOldest(identity: IdentityClient) {
  for await (const oldest of identity.list({ limit: 1 })) return oldest;
  return undefined;
}

/** The service token that the services run with. */
export function serviceTokenOf({ passedOn }: StackEnvironment, folder: DataFolder): string {
  return (
    passedOn.SERVICE_TOKEN ?? readPrivateFile(passedOn.SERVICE_TOKEN_FILE ?? folder.serviceTokenFile).trim()
  );
}
