import { describe, expect, it } from '@jest/globals';
import type { z } from 'zod';
import {
  accessTokenClaimsSchema,
  createIdentitySchema,
  discoveryDocumentSchema,
  identityMirrorFieldsSchema,
  identitySchema,
  jwkSetSchema,
  passwordGrantSchema,
  problemSchema,
  refreshTokenClaimsSchema,
  tokenResponseSchema,
  updateIdentitySchema,
  userInfoSchema,
  uuid,
} from '../src/index.ts';

const id = '01980c5e-7c3a-7000-8000-000000000001';
const identity = {
  id,
  email: 'ann@example.com',
  username: 'ann',
  display_name: 'Ann Lee',
  sso_provider: null,
  sso_id: null,
  is_active: true,
  is_verified: false,
  is_staff: false,
  is_superuser: false,
  deleted_at: null,
  created_at: '2026-01-02T03:04:05.678Z',
  updated_at: '2026-01-02T03:04:05.678Z',
};
const access = {
  sub: id,
  iss: 'https://id.example.com',
  aud: 'tessera',
  iat: 1_700_000_000,
  exp: 1_700_000_900,
  jti: id,
  type: 'access',
  email: 'ann@example.com',
  username: 'ann',
  is_verified: true,
  is_staff: false,
  is_superuser: false,
};
const {
  email: _email,
  username: _username,
  is_verified: _v,
  is_staff: _s,
  is_superuser: _u,
  ...registered
} = access;
const refresh = { ...registered, type: 'refresh' };
const key = { kty: 'RSA', use: 'sig', alg: 'RS256', kid: 'identity-key-1', n: 'sXchDaQ', e: 'AQAB' };
const discovery = {
  issuer: 'https://id.example.com',
  token_endpoint: 'https://id.example.com/token',
  userinfo_endpoint: 'https://id.example.com/userinfo',
  jwks_uri: 'https://id.example.com/jwks',
  response_types_supported: ['token'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['RS256'],
  scopes_supported: ['openid', 'email', 'profile'],
  grant_types_supported: ['password', 'refresh_token'],
  claims_supported: ['sub'],
  token_endpoint_auth_methods_supported: ['none'],
  revocation_endpoint: 'https://id.example.com/token/revoke',
  revocation_endpoint_auth_methods_supported: ['none'],
};
const problem = {
  type: 'https://id.example/api/problems/not_found',
  title: 'Not Found',
  status: 404,
  detail: 'Gone.',
  code: 'not_found',
  request_id: 'r1',
};
const tokens = { access_token: 'a.b.c', refresh_token: 'd.e.f', token_type: 'Bearer', expires_in: 900 };
const userInfo = { sub: id, email: 'ann@example.com', email_verified: true, preferred_username: 'ann' };
const created = { email: 'ann@example.com', password: 'correct horse' };
const grant = { grant_type: 'password', email: 'ann@example.com', password: 'correct horse' };

/** For each schema: an example that parses, and similar inputs that do not. */
const cases: { name: string; schema: z.ZodType; example: object; misses: object[] }[] = [
  {
    name: 'identity',
    schema: identitySchema,
    example: identity,
    misses: [{ id: 'x' }, { deleted_at: 'yesterday' }, { is_active: 1 }, { email: null }],
  },
  {
    name: 'mirror fields',
    schema: identityMirrorFieldsSchema,
    example: identity,
    misses: [{ sso_id: undefined }, { is_staff: 'no' }],
  },
  {
    name: 'create',
    schema: createIdentitySchema,
    example: created,
    misses: [
      { email: undefined },
      { email: 'x' },
      { password: undefined },
      { sso_id: 'x' },
      { is_actve: true },
      { password_hash: 'x' },
      { username: '\t' },
      { password: 'a\u0000b' },
    ],
  },
  {
    name: 'update',
    schema: updateIdentitySchema,
    example: {},
    misses: [{ email: null }, { sso_provider: null }, { is_admin: true }, { is_staff: null }],
  },
  {
    name: 'password grant',
    schema: passwordGrantSchema,
    example: grant,
    misses: [{ grant_type: '' }, { email: '' }, { password: 7 }, { password: 'x'.repeat(4097) }],
  },
  {
    name: 'token response',
    schema: tokenResponseSchema,
    example: tokens,
    misses: [{ token_type: 'bearer' }, { expires_in: 1.5 }, { access_token: null }],
  },
  {
    name: 'access claims',
    schema: accessTokenClaimsSchema,
    example: access,
    misses: [
      { type: 'refresh' },
      { exp: '1700000900' },
      { exp: 1_700_000_000 },
      { iat: 1.5 },
      { sub: 'ann' },
      { jti: undefined },
      { aud: [] },
      { is_staff: 'true' },
    ],
  },
  {
    name: 'refresh claims',
    schema: refreshTokenClaimsSchema,
    example: refresh,
    misses: [{ type: 'access' }, { exp: undefined }, { iat: -1 }],
  },
  {
    name: 'user info',
    schema: userInfoSchema,
    example: userInfo,
    misses: [{ sub: 7 }, { email_verified: 'yes' }, { preferred_username: null }],
  },
  {
    name: 'key set',
    schema: jwkSetSchema,
    example: { keys: [key] },
    misses: [
      { keys: [] },
      { keys: [{ ...key, d: 'secret' }] },
      { keys: [{ ...key, alg: 'HS256' }] },
      { keys: [{ ...key, kid: 'key-one' }] },
    ],
  },
  {
    name: 'discovery',
    schema: discoveryDocumentSchema,
    example: discovery,
    misses: [
      { response_types_supported: ['code'] },
      { jwks_uri: '/jwks' },
      { grant_types_supported: ['password'] },
    ],
  },
  {
    name: 'problem',
    schema: problemSchema,
    example: problem,
    misses: [{ detail: undefined }, { status: 200 }, { errors: ['x'] }],
  },
];

describe.each(cases)('the contract of $name', ({ schema, example, misses }) => {
  it('accepts the example', () => {
    expect(schema.safeParse(example).error).toBeUndefined();
  });

  it.each(misses)('refuses %j', (miss) => {
    expect(schema.safeParse({ ...example, ...miss }).success).toBe(false);
  });
});

describe('a UUID', () => {
  it('may be of any version and case, and is read in lower case', () => {
    for (const value of [
      '00000000-0000-0000-0000-000000000000',
      'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF',
      id,
    ]) {
      expect(uuid().parse(value)).toBe(value.toLowerCase());
    }
  });

  it.each(['', 'x', id.replaceAll('-', ''), `{${id}}`, `${id}0`, `urn:uuid:${id}`])(
    'may not be %j',
    (value) => {
      expect(uuid().safeParse(value).success).toBe(false);
    },
  );
});

describe('a display name', () => {
  const isAccepted = (name: string) => updateIdentitySchema.safeParse({ display_name: name }).success;

  it.each([
    ['a tag without a flag', 'ad\u{e0041}min'],
    ['tags after a letter', 'x\u{1f3f4}\u{e0067}y\u{e0062}'],
    ['a blank of Braille', 'ab\u2800cd'],
    ['a separator of lines', 'ab\u2028cd'],
    ['a joiner at the start', '\u200dab'],
    ['a joiner at the end', '👩\u200d'],
    ['two joiners', 'نم\u200d\u200dا'],
    ['a joiner of Latin letters', 'ab\u200dcd'],
    ['a variation of a Latin letter', 'ab\u{e0100}cd'],
    ['a variation of a digit', 'Ann 1\ufe0f'],
  ])('has not %s, which is not shown', (_, name) => {
    expect(isAccepted(name)).toBe(false);
  });

  it.each([
    '❤️ Ann',
    '👩‍👩‍👧‍👦 Fam',
    '👩🏽‍💻',
    '🏳️‍🌈',
    '⛹🏿‍♀️',
    '1️⃣ one',
    '☎︎ desk',
    '↔️ x',
    'می‌خواهم',
    'क्‍ष',
    'ක්‍රම',
    '辻\u{e0100}田',
    '🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}',
  ])('can be %s', (name) => {
    expect(isAccepted(name)).toBe(true);
  });
});
