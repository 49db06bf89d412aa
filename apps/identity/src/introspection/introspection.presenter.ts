import type { Introspection } from '@tessera/contracts';
import type { ActiveToken } from './introspection.service.ts';

/** RFC 7662 2.2 */
export function presentIntrospection(token: ActiveToken | undefined): Introspection {
  if (token === undefined) return { active: false };
  const { iss, sub, aud, iat, exp, jti } = token.claims;
  const members = { active: true as const, iss, sub, aud, iat, exp, jti, username: token.subject.username };
  return token.kind === 'access'
    ? { ...members, token_use: 'access_token', token_type: 'Bearer' }
    : { ...members, token_use: 'refresh_token', sid: token.subject.familyId };
}
