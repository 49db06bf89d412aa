import { errorMessage, field, hiddenFields } from './form.ts';
import { html } from './html.ts';
import { renderPage } from './page.ts';
import { type PageContext, textOf } from './page-context.ts';
import { type SignInError, type SignInView, signInErrorText } from './sign-in-page.ts';

/** Why a new password is refused. */
export interface NewPasswordError {
  code: 'too_short' | 'too_long' | 'too_common' | 'unchanged';
}

interface NewPasswordView extends Pick<SignInView, 'context' | 'action' | 'fields' | 'client'> {
  email: string;
  /** PASSWORD_MIN_LENGTH */
  minLength: number;
  error?: NewPasswordError | SignInError | undefined;
}

/**
 * Asks a person with a temporary password for it and another one. The fields of the form are `email`, `password` and
 * `new_password`. The page contains no password.
 */
export function newPasswordPage({
  context,
  action,
  fields,
  client,
  email,
  minLength,
  error,
}: NewPasswordView): string {
  const hasError = error !== undefined;
  const isNewRefused = hasError && isNewPasswordError(error);
  return renderPage({
    context,
    title: textOf(context, 'newPassword.title'),
    subtitle: textOf(context, 'newPassword.text'),
    client,
    hasError,
    content: html`<form method="post" action="${action}">
${hiddenFields(fields)}
${errorMessage(error && errorText(context, error, minLength))}
${field({
  name: 'email',
  label: textOf(context, 'field.email'),
  kind: 'email',
  autocomplete: 'username',
  value: email,
  isReadOnly: true,
  hasError,
})}
${field({
  name: 'password',
  label: textOf(context, 'field.temporaryPassword'),
  kind: 'password',
  autocomplete: 'current-password',
  hasFocus: true,
  hasError,
  isInvalid: error?.code === 'invalid_grant',
})}
${field({
  name: 'new_password',
  label: textOf(context, 'field.newPassword'),
  kind: 'password',
  autocomplete: 'new-password',
  hint: textOf(context, 'field.newPasswordHint', { count: minLength }),
  hasError,
  isInvalid: isNewRefused,
})}
<button>${textOf(context, 'newPassword.submit')}</button>
</form>`,
  });
}

function isNewPasswordError(error: NewPasswordError | SignInError): error is NewPasswordError {
  return ['too_short', 'too_long', 'too_common', 'unchanged'].includes(error.code);
}

function errorText(context: PageContext, error: NewPasswordError | SignInError, minLength: number): string {
  return isNewPasswordError(error)
    ? textOf(context, `newPasswordError.${error.code}`, { count: minLength })
    : signInErrorText(context, error);
}
