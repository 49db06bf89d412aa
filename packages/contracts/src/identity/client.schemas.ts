import { z } from 'zod';
import { atMost, isVisibleName, oneLine, uuid } from '../text.schemas.ts';

/** Who a client is: a server that keeps a secret, a program on a device of the person, or a program that signs in itself. */
export const clientKinds = ['confidential', 'public', 'machine'] as const;
export type ClientKind = (typeof clientKinds)[number];

/** The scopes of OpenID Connect that clients can have. */
export const clientScopes = ['openid', 'email', 'profile', 'groups'] as const;
export type ClientScope = (typeof clientScopes)[number];

/** Maximum number of redirect URIs of a client, and of characters of one. */
export const redirectUrisMax = 20;
export const redirectUriMaxLength = 2000;

/** `http` on a host that only the same machine reaches: group 1 is the host, group 2 what follows the port. */
export const loopbackUri = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::\d{1,5})?((?:[/?].*)?)$/;

// Visible ASCII without characters that URLs encode, and without wildcards. Parsers differ in how they read others.
const uriText = /^[A-Za-z][A-Za-z0-9+.-]*:[^\s"#'*<>\\^`{|}\x00-\x1f\x7f-\uffff]+$/;
// A page writes each in five characters.
const ampersandsMax = 50;

/** Whether a text is an absolute URI without a fragment, a user or a wildcard (RFC 6749 3.1.2, RFC 9700 4.1.3). */
function isAbsoluteUri(value: string): boolean {
  if (!uriText.test(value) || !URL.canParse(value) || value.split('&').length > ampersandsMax + 1)
    return false;
  const { username, password } = new URL(value);
  return username === '' && password === '';
}

const isHttps = (value: string) => /^https:\/\/[^/?]/.test(value);

/** A scheme of a program on a device (RFC 8252 7.1): a domain of its maker in reverse, so it has a dot. */
export function isPrivateScheme(uri: string): boolean {
  return /^[a-z][a-z0-9+-]*\.[a-z0-9+.-]+:/.test(uri);
}

const uri = (isAccepted: (value: string) => boolean, error: string) =>
  z
    .string()
    .check(atMost(redirectUriMaxLength))
    .refine((value) => isAbsoluteUri(value) && isAccepted(value), { error });

const redirectUri = uri(
  (value) => isHttps(value) || loopbackUri.test(value) || isPrivateScheme(value),
  'must be an absolute URI without fragment and wildcard: https, http on a loopback address, or a private scheme with a dot',
);

// The parameters of a response, which a client must not find twice (RFC 6749 3.1).
const responseParameters = ['code', 'state', 'iss', 'error', 'error_description', 'error_uri'];
const answeredUri = redirectUri.refine(
  (value) =>
    !URL.canParse(value) || responseParameters.every((name) => !new URL(value).searchParams.has(name)),
  { error: `must not have a parameter of the response: ${responseParameters.join(', ')}` },
);

const backchannelUri = uri(
  (value) => isHttps(value) || loopbackUri.test(value),
  'must be an absolute URI without fragment: https, or http on a loopback address',
);

// The audience of an ID token is the id of a client, which is a UUID.
const audience = z
  .string()
  .regex(/^[\x21-\x7e]{1,200}$/, { error: 'must be 1 to 200 visible ASCII characters without spaces' })
  .refine((value) => !uuid().safeParse(value).success, { error: 'must not be a UUID' });

const distinct = <Item extends z.ZodType<string>>(item: Item, max: number) =>
  z
    .array(item)
    .max(max)
    .refine((values) => new Set(values).size === values.length, { error: 'must not repeat a value' });

const publicKeySet = z
  .strictObject({
    keys: z
      .array(z.record(z.string().max(50), z.unknown()))
      .min(1)
      .max(10),
  })
  .refine((set) => JSON.stringify(set).length <= 20_000, { error: 'must have at most 20000 characters' })
  .meta({ id: 'ClientKeySet' });

const members = {
  name: oneLine(100).check(isVisibleName()),
  redirect_uris: distinct(answeredUri, redirectUrisMax),
  post_logout_redirect_uris: distinct(redirectUri, redirectUrisMax),
  backchannel_logout_uri: backchannelUri.nullable(),
  scopes: distinct(z.enum(clientScopes), clientScopes.length),
  audiences: distinct(audience, 10),
  require_pkce: z.boolean(),
  is_first_party: z.boolean(),
  identity_id: uuid().nullable(),
  jwks: publicKeySet.nullable(),
};

/** POST /internal/clients */
export const createClientSchema = z
  .strictObject({ ...z.object(members).partial().shape, name: members.name, kind: z.enum(clientKinds) })
  .meta({ id: 'CreateClient' });
export type CreateClient = z.infer<typeof createClientSchema>;

/** PATCH /internal/clients/{client_id}: only given members change. */
export const updateClientSchema = z
  .strictObject(z.object(members).partial().shape)
  .meta({ id: 'UpdateClient' });
export type UpdateClient = z.infer<typeof updateClientSchema>;

const timestamp = z.iso.datetime();

const redirectRefusalSchema = z
  .object({
    at: timestamp,
    sent: z.string(),
    nearest: z.string().nullable(),
    differs_at: z.int().positive().nullable(),
  })
  .meta({ id: 'RedirectRefusal' });

/** A client in responses. It never has a secret. */
export const clientSchema = z
  .object({
    client_id: uuid(),
    name: z.string(),
    kind: z.enum(clientKinds),
    redirect_uris: z.array(z.string()),
    post_logout_redirect_uris: z.array(z.string()),
    backchannel_logout_uri: z.string().nullable(),
    scopes: z.array(z.enum(clientScopes)),
    audiences: z.array(z.string()),
    require_pkce: z.boolean(),
    is_first_party: z.boolean(),
    identity_id: uuid().nullable(),
    jwks: publicKeySet.nullable(),
    created_at: timestamp,
    disabled_at: timestamp.nullable(),
    last_refusal: redirectRefusalSchema.nullable(),
  })
  .meta({ id: 'Client' });
export type ClientDetails = z.infer<typeof clientSchema>;

/** A new client. */
export const createdClientSchema = clientSchema
  .extend({ client_secret: z.string().optional() })
  .meta({ id: 'CreatedClient' });
export type CreatedClient = z.infer<typeof createdClientSchema>;

/** POST /internal/clients/{client_id}/rotate-secret */
export const clientSecretSchema = z
  .object({ client_secret: z.string(), previous_valid_until: timestamp.nullable() })
  .meta({ id: 'ClientSecret' });
export type ClientSecret = z.infer<typeof clientSecretSchema>;

export const clientIdParamsSchema = z.object({ client_id: uuid() });
export const clientNotFound = { status: 404, codes: ['client_not_found'] } as const;
