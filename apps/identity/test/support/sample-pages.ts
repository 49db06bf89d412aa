import { createApp, createLogger, documentRoute, prepareBytes, type Route } from '@tessera/service-kit';
import { recordingLog } from '@tessera/testing/leaks';
import { startTestServer } from '@tessera/testing/test-server';
import { accountPage } from '../../src/pages/account-page.ts';
import { assetRoutes } from '../../src/pages/assets.ts';
import { type Branding, readBranding } from '../../src/pages/branding.ts';
import { consentPage } from '../../src/pages/consent-page.ts';
import { continuePage } from '../../src/pages/continue-page.ts';
import { newPasswordPage } from '../../src/pages/new-password-page.ts';
import { sendPage } from '../../src/pages/page.ts';
import { type PageContext, pageContext } from '../../src/pages/page-context.ts';
import { refusalPage } from '../../src/pages/refusal-page.ts';
import { signInPage } from '../../src/pages/sign-in-page.ts';
import { signedOutPage, signOutPage } from '../../src/pages/sign-out-page.ts';

type BrandingConfig = Parameters<typeof readBranding>[0];

export function aBranding(config: Partial<BrandingConfig> = {}): Promise<Branding> {
  const plain = {
    name: 'Tessera',
    color: '#3b4fd8',
    logo: undefined,
    clientLogos: undefined,
    messages: undefined,
  };
  return readBranding({ ...plain, ...config }, '');
}

interface Texts {
  client: string;
  email: string;
  /** A value in the authorization request, and an id. */
  value?: string;
}

/** Each page in each of its states, with texts of other people. */
export function samplePages(context: PageContext, { client: name, email, value = 'state' }: Texts) {
  const client = { id: 'sample', name };
  const form = { context, action: '/sign-in', fields: [['state', value] as const], client };
  const again = { ...form, email };
  const newPassword = { ...again, minLength: 8 };
  return {
    'sign-in': signInPage(form),
    'sign-in-alone': signInPage({ ...form, client: undefined }),
    'sign-in-again': signInPage({ ...again, isAgain: true }),
    'sign-in-wrong': signInPage({ ...again, error: { code: 'invalid_grant' } }),
    'sign-in-incomplete': signInPage({ ...form, error: { code: 'incomplete' } }),
    'sign-in-expired': signInPage({ ...again, error: { code: 'password_expired' } }),
    'sign-in-limited': signInPage({ ...again, error: { code: 'too_many_requests', retryAfterSeconds: 299 } }),
    'new-password': newPasswordPage(newPassword),
    'new-password-wrong': newPasswordPage({ ...newPassword, error: { code: 'invalid_grant' } }),
    'new-password-short': newPasswordPage({ ...newPassword, error: { code: 'too_short' } }),
    consent: consentPage({ ...again, scopes: ['openid', 'email', 'profile', 'tessera', value] }),
    continue: continuePage({ context, to: `/away?state=${encodeURIComponent(value.toWellFormed())}` }),
    refusal: refusalPage({ context, kind: 'redirect_uri', id: value }),
    'refusal-unavailable': refusalPage({ context, kind: 'unavailable', id: value }),
    'sign-out': signOutPage(again),
    'signed-out': signedOutPage({ context, next: { name, to: 'https://app.example/' } }),
    account: accountPage({ context, email, signOutAction: '/oidc/logout', fields: [] }),
  };
}

export type SampleName = keyof ReturnType<typeof samplePages>;

/** Serves the pages at their names, in the language of the browser, behind the HTTP server of production. */
export async function startSampleServer(branding: Branding, texts: Texts) {
  const nothing = prepareBytes(Buffer.from('<!doctype html><title>away</title>'), 'text/html');
  const routes = ['sample', 'form'].map((kind): Route => {
    const isForm = kind === 'form';
    const path = isForm ? '/sign-in' : '/samples/:name';
    return {
      ...documentRoute({ method: 'GET', path }, nothing),
      operation: { method: isForm ? 'POST' : 'GET', path },
      serve: (request, response) => {
        const context = pageContext(branding, request);
        const pages = samplePages(context, texts);
        const name = (isForm ? 'sign-in-wrong' : request.params?.name) as SampleName;
        sendPage(response, { status: isForm ? 422 : 200, page: pages[name], context });
      },
    };
  });
  const logger = createLogger({ service: 'identity', level: 'info', destination: recordingLog() });
  const app = createApp({
    routes: [...routes, ...assetRoutes(branding), documentRoute({ method: 'GET', path: '/away' }, nothing)],
    logger,
    trustProxy: false,
    security: { hsts: false },
  });
  return startTestServer(app, logger);
}
