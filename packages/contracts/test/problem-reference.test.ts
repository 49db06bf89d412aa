import { describe, expect, it } from '@jest/globals';
import { type Api, identityApi, issuesApi, problemReference, problemsOf } from '../src/index.ts';

describe('the reference of errors', () => {
  // The compiler refuses an operation or an error with a code that has no entry; this finds entries without an operation.
  it('has the codes of all operations, and those of requests that reach none', () => {
    const codes = [identityApi, issuesApi].flatMap(({ operations, secured }: Api) =>
      operations.flatMap((operation) => problemsOf(operation, secured).flatMap((problem) => problem.codes)),
    );
    const others = Object.keys(problemReference).filter((code) => !codes.some((known) => known === code));
    expect(others.sort()).toEqual([
      'client_gone',
      'cross_site_request',
      'headers_too_large',
      // The endpoints of OpenID Connect under /oidc.
      ...['insufficient_scope', 'invalid_client', 'invalid_scope', 'invalid_target'],
      ...['method_not_allowed', 'not_found'],
      // The web session.
      ...['other_user', 'session_ended', 'session_unavailable'],
      // The endpoints of OpenID Connect under /oidc.
      'unauthorized_client',
    ]);
  });

  it('has plain sentences', () => {
    for (const { meaning, action } of Object.values(problemReference))
      for (const text of [meaning, action]) expect(text).toMatch(/^[A-Z`][^<>\n]+\.$/);
  });
});
