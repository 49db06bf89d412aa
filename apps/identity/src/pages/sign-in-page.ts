import { errorMessage, field, hiddenFields } from './form.ts';
import { html } from './html.ts';
import { renderPage } from './page.ts';
import { messageOf, nameOf, type PageContext, textOf } from './page-context.ts';

/** Why a sign-in is refused. */
export interface SignInError {
  code: 'invalid_grant' | 'password_expired' | 'too_many_requests' | 'unavailable' | 'incomplete';
  /** With `too_many_requests`. */
  retryAfterSeconds?: number | undefined;
}

export interface SignInView {
  context: PageContext;
  action: string;
  /** The authorization request, which travels in the form. */
  fields: ReadonlyArray<readonly [string, string]>;
  /** Undefined if no application has sent the person. */
  client?: { id: string; name: string } | undefined;
  email?: string | undefined;
  /** Whether the person is signed in and has to show it again (`prompt=login`, `max_age`). */
  isAgain?: boolean;
  error?: SignInError | undefined;
}

/** The fields of the form are `email` and `password`. */
export function signInPage(view: SignInView): string {
  const { context, action, fields, client, email = '', isAgain = false, error } = view;
  const knowsEmail = email !== '';
  const hasError = error !== undefined;
  const isInvalid = error?.code === 'invalid_grant' || error?.code === 'incomplete';
  return renderPage({
    context,
    title: textOf(context, 'signIn.title'),
    subtitle:
      client === undefined
        ? messageOf(context, 'signIn.brand', { brand: nameOf(context.brand) })
        : messageOf(context, 'signIn.client', { client: nameOf(client.name) }),
    client,
    hasError,
    content: html`<form method="post" action="${action}">
${hiddenFields(fields)}
${error === undefined && isAgain && html`<p class="note">${textOf(context, 'signIn.again')}</p>`}
${errorMessage(error && signInErrorText(context, error))}
${field({
  name: 'email',
  label: textOf(context, 'field.email'),
  kind: 'email',
  autocomplete: 'username',
  value: email,
  hasFocus: !knowsEmail,
  hasError,
  isInvalid,
})}
${field({
  name: 'password',
  label: textOf(context, 'field.password'),
  kind: 'password',
  autocomplete: 'current-password',
  hasFocus: knowsEmail,
  hasError,
  isInvalid,
})}
<button>${textOf(context, 'signIn.submit')}</button>
</form>`,
  });
}

/** The text of a refusal. */
export function signInErrorText(context: PageContext, { code, retryAfterSeconds = 60 }: SignInError): string {
  if (code !== 'too_many_requests') return textOf(context, `signInError.${code}`);
  const minutes = Math.ceil(retryAfterSeconds / 60);
  return minutes <= 1
    ? textOf(context, 'signInError.too_many_requests_minute')
    : textOf(context, 'signInError.too_many_requests', { minutes });
}
