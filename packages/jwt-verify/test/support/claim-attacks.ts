import { type Attack, type AttackContext, createForge, refusedBy } from './attack.ts';

const malformed = /^invalid claims: /;

/** Correctly signed tokens with wrong claims. */
export function claimAttacks(context: AttackContext): Attack[] {
  return [
    ...missingClaims(context),
    ...malformedTimes(context),
    ...wrongTimes(context),
    ...wrongIssuers(context),
    ...wrongAudiences(context),
    ...otherKinds(context),
    ...malformedSubjects(context),
  ];
}

function missingClaims(context: AttackContext): Attack[] {
  const { signed } = createForge(context);
  return Object.keys(context.claims).flatMap((name) =>
    refusedBy(/^invalid claims: |^jwt (issuer|audience) invalid|^invalid exp value$/, {
      [`without ${name}`]: signed({ claims: { [name]: undefined } }),
      [`${name} null`]: signed({ claims: { [name]: null } }),
    }),
  );
}

function malformedTimes(context: AttackContext): Attack[] {
  const { signed, signedRaw } = createForge(context);
  const { exp, iat } = context.claims;
  const json = JSON.stringify(context.claims);
  return refusedBy(/^invalid claims: |^invalid exp value$|^expired$|^exp out of range$/, {
    'exp as text': signed({ claims: { exp: String(exp) } }),
    'exp as a date': signed({ claims: { exp: new Date(exp * 1000).toISOString() } }),
    'exp with a fraction': signed({ claims: { exp: exp + 0.5 } }),
    'exp negative': signed({ claims: { exp: -1 } }),
    'exp zero': signed({ claims: { exp: 0 } }),
    'exp 1e300': signed({ claims: { exp: 1e300 } }),
    'exp beyond every number': signedRaw({ payload: json.replace(`"exp":${exp}`, '"exp":1e999') }),
    'exp beyond safe integers': signed({ claims: { exp: 2 ** 60 } }),
    'exp in milliseconds': signed({ claims: { exp: exp * 1000 } }),
    'exp true': signed({ claims: { exp: true } }),
    'exp as an array': signed({ claims: { exp: [exp] } }),
    'exp before iat': signed({ claims: { exp: iat - 1 } }),
    'exp equal to iat': signed({ claims: { exp: iat } }),
    'iat as text': signed({ claims: { iat: String(iat) } }),
    'iat with a fraction': signed({ claims: { iat: iat - 0.5 } }),
    'iat negative': signed({ claims: { iat: -1 } }),
  });
}

function wrongTimes(context: AttackContext): Attack[] {
  const { signed } = createForge(context);
  const { clockToleranceSeconds: tolerance } = context;
  const now = context.claims.iat;
  // Ten minutes of margin, because a test sends the tokens until it ends.
  const later = now + tolerance + 600;
  return [
    ...refusedBy(/^expired$/, {
      'exp just past': signed({ claims: { iat: now - 900, exp: now - tolerance } }),
      'exp long past': signed({ claims: { iat: 1_000_000_000, exp: 1_000_000_900 } }),
    }),
    ...refusedBy(/^issued in the future$/, {
      'iat ahead': signed({ claims: { iat: later, exp: later + 900 } }),
    }),
    ...refusedBy(/^exp out of range$/, {
      'all times in milliseconds': signed({ claims: { iat: now * 1000, exp: now * 1000 + 900 } }),
    }),
    ...refusedBy(/^jwt not active$|^invalid nbf value$/, {
      'nbf ahead': signed({ claims: { nbf: later } }),
      'nbf as text': signed({ claims: { nbf: String(now) } }),
    }),
  ];
}

function wrongIssuers(context: AttackContext): Attack[] {
  const { signed } = createForge(context);
  const { iss } = context.claims;
  return refusedBy(/^jwt issuer invalid|^invalid claims: iss/, {
    'another iss': signed({ claims: { iss: 'https://evil.example' } }),
    'iss with a slash more': signed({ claims: { iss: `${iss}/` } }),
    'iss in upper case': signed({ claims: { iss: iss.toUpperCase() } }),
    'iss as a prefix': signed({ claims: { iss: `${iss}.evil.example` } }),
    'iss as an array': signed({ claims: { iss: [iss] } }),
    'iss empty': signed({ claims: { iss: '' } }),
  });
}

function wrongAudiences(context: AttackContext): Attack[] {
  const { signed } = createForge(context);
  const { aud } = context.claims;
  return [
    ...refusedBy(/^jwt audience invalid|^invalid claims: aud/, {
      'another aud': signed({ claims: { aud: 'someone-else' } }),
      'aud as a prefix': signed({ claims: { aud: `${aud}2` } }),
      'aud cut short': signed({ claims: { aud: aud.slice(0, -1) } }),
      'aud empty': signed({ claims: { aud: '' } }),
      'aud an empty array': signed({ claims: { aud: [] } }),
      'aud an array of others': signed({ claims: { aud: ['someone-else'] } }),
      'aud an object': signed({ claims: { aud: { [aud]: true } } }),
    }),
    // jsonwebtoken accepts an array if one member matches.
    ...refusedBy(/^wrong audience$/, {
      'aud containing ours': signed({ claims: { aud: ['someone-else', aud] } }),
      'aud ours in an array': signed({ claims: { aud: [aud] } }),
      'aud ours twice': signed({ claims: { aud: [aud, aud] } }),
    }),
    ...refusedBy(malformed, { 'aud ours and a number': signed({ claims: { aud: [aud, 1] } }) }),
  ];
}

// RFC 8725 2.8: cross-JWT confusion. Both `typ` and `type` prevent it.
function otherKinds(context: AttackContext): Attack[] {
  const { signed } = createForge(context);
  const other = context.kind === 'access' ? 'refresh' : 'access';
  const otherTyp = other === 'access' ? 'at+jwt' : 'rt+jwt';
  return [
    ...refusedBy(/^wrong token type$/, {
      [`a whole ${other} token`]: signed({ header: { typ: otherTyp }, claims: { type: other } }),
    }),
    // Access tokens may have the general type (ACCESS_TOKEN_TYP of identity), so `type` alone distinguishes these.
    ...refusedBy(context.kind === 'access' ? malformed : /^wrong token type$/, {
      [`a whole ${other} token with typ JWT`]: signed({ header: { typ: 'JWT' }, claims: { type: other } }),
    }),
    ...refusedBy(malformed, {
      [`type ${other}`]: signed({ claims: { type: other } }),
      'type in upper case': signed({ claims: { type: context.kind.toUpperCase() } }),
      'type as an array': signed({ claims: { type: [context.kind] } }),
      'type empty': signed({ claims: { type: '' } }),
    }),
  ];
}

function malformedSubjects(context: AttackContext): Attack[] {
  const { signed } = createForge(context);
  const uuidClaims = ['sub', 'jti'].flatMap((name) =>
    [1, '', 'admin', 'ann@example.com', "' OR '1'='1", {}, []].map((value) => ({ [name]: value })),
  );
  const flagClaims = ['is_verified', 'is_staff', 'is_superuser'].flatMap((name) =>
    ['true', 1, [], {}].map((value) => ({ [name]: value })),
  );
  const textClaims = ['email', 'username'].flatMap((name) =>
    [1, [], { $ne: '' }].map((value) => ({ [name]: value })),
  );
  // A refresh token has neither flags nor texts, and verifiers ignore unknown claims.
  const changes = context.kind === 'access' ? [...uuidClaims, ...flagClaims, ...textClaims] : uuidClaims;
  return changes.flatMap((claims) =>
    refusedBy(malformed, { [`claims ${JSON.stringify(claims)}`]: signed({ claims }) }),
  );
}
