import { type Attack, type AttackContext, createForge, refusedBy } from './attack.ts';

/** Correctly signed tokens whose header or payload is not a plain JSON object. */
export function jsonAttacks(context: AttackContext): Attack[] {
  return [...brokenJson(context), ...repeatedMembers(context)];
}

function brokenJson(context: AttackContext): Attack[] {
  const { header, signedRaw } = createForge(context);
  const claims = JSON.stringify(context.claims);
  const payloads: Record<string, string> = {
    'an array': `[${claims}]`,
    text: JSON.stringify(claims),
    null: 'null',
    'a number': '1',
  };
  const notUtf8 = Buffer.from(claims.replace('"type"', '"\u00ff":0,"type"'), 'latin1');
  return [
    ...Object.entries(payloads).flatMap(([name, payload]) =>
      refusedBy(/^payload is not an object$/, { [`payload ${name}`]: signedRaw({ payload }) }),
    ),
    ...refusedBy(/^payload is not JSON$/, {
      'payload with a byte order mark': signedRaw({ payload: `\ufeff${claims}` }),
      'payload in UTF-16': signedRaw({ payload: Buffer.from(claims, 'utf16le') }),
      'payload cut short': signedRaw({ payload: claims.slice(0, -1) }),
      'payload with a comment': signedRaw({ payload: `${claims}/**/` }),
      'payload of two objects': signedRaw({ payload: claims + claims }),
    }),
    ...refusedBy(/^payload is not UTF-8$/, {
      'payload in Latin-1': signedRaw({ payload: notUtf8 }),
      'payload with an overlong encoding': signedRaw({
        payload: Buffer.concat([Buffer.from('{"sub":"'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')]),
      }),
    }),
    ...refusedBy(/^header is not (JSON|an object)$/, {
      'header an array': signedRaw({ header: JSON.stringify([header]) }),
      'header null': signedRaw({ header: 'null' }),
      'header not JSON': signedRaw({ header: "{'alg':'RS256'}" }),
    }),
    ...refusedBy(/^header is not UTF-8$/, { 'header not UTF-8': signedRaw({ header: Buffer.from([0xff]) }) }),
    ...refusedBy(/^invalid header$/, {
      'header by way of __proto__': signedRaw({ header: `{"__proto__":${JSON.stringify(header)}}` }),
    }),
    ...refusedBy(/^invalid claims: |^jwt (issuer|audience) invalid/, {
      'payload by way of __proto__': signedRaw({ payload: `{"__proto__":${claims}}` }),
      'payload empty object': signedRaw({ payload: '{}' }),
    }),
  ];
}

// RFC 7519 4, RFC 7515 4: parsers differ in which of two equal members they use.
function repeatedMembers(context: AttackContext): Attack[] {
  const { header, signedRaw } = createForge(context);
  const members = JSON.stringify(header).slice(1);
  const claims = JSON.stringify(context.claims).slice(1);
  return [
    ...refusedBy(/^header repeats a member$/, {
      'alg twice, the good one last': signedRaw({ header: `{"alg":"none",${members}` }),
      'alg twice, equal': signedRaw({ header: `{"alg":"RS256",${members}` }),
      'twice inside an unknown member': signedRaw({ header: `{"extra":{"a":1,"a":1},${members}` }),
      'kid twice': signedRaw({ header: `{"kid":"foreign-key-1",${members}` }),
      'alg twice, once escaped': signedRaw({ header: `{"\\u0061lg":"none",${members}` }),
    }),
    ...refusedBy(/^payload repeats a member$/, {
      'type twice, the good one last': signedRaw({ payload: `{"type":"other",${claims}` }),
      'sub twice': signedRaw({ payload: `{"sub":"00000000-0000-4000-8000-000000000000",${claims}` }),
      'exp twice': signedRaw({ payload: `{"exp":1,${claims}` }),
      'sub twice, once escaped': signedRaw({ payload: `{"\\u0073ub":"x",${claims}` }),
      'sub twice, with a space before the colon': signedRaw({ payload: `{"sub" : "x",${claims}` }),
      '__proto__ twice': signedRaw({ payload: `{"__proto__":1,"__proto__":2,${claims}` }),
      'twice inside an unknown claim': signedRaw({ payload: `{"extra":[{"a":1,"a":2}],${claims}` }),
    }),
  ];
}
