/** The second issuer of the service: that of OpenID Connect. Its URLs use the configured issuer and never the Host header. */
export interface OidcIssuer {
  /** The value of `iss` of ID tokens, logout tokens and responses. */
  issuer: string;
  /** The audience of access tokens that are for the user information only. */
  userInfoAudience: string;
  /** The audience of the service's own access tokens: one is a string, several are an array. */
  audience: string | string[];
  /** The public URL of the service, without a final slash. */
  base: string;
  /** The path of the public URL, for links of pages. */
  basePath: string;
  origin: string;
}

export function oidcIssuer(publicUrl: string, audience: string | string[]): OidcIssuer {
  const base = publicUrl.replace(/\/$/, '');
  const { pathname, origin } = new URL(base);
  const issuer = `${base}/oidc`;
  return {
    issuer,
    userInfoAudience: `${issuer}/userinfo`,
    audience,
    base,
    basePath: pathname.replace(/\/$/, ''),
    origin,
  };
}
