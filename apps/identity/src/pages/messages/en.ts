/** The texts of the pages. A word in braces, such as `{client}`, stands for a value. */
export const en = {
  'error.title': 'Error: {title}',

  'field.email': 'E-mail',
  'field.password': 'Password',
  'field.temporaryPassword': 'Temporary password',
  'field.newPassword': 'New password',
  'field.newPasswordHint':
    'At least {count} characters. A few unrelated words are easy to remember and hard to guess.',

  'signIn.title': 'Sign in',
  'signIn.client': 'to continue to {client}',
  'signIn.brand': 'to {brand}',
  'signIn.again': 'To continue, confirm that it is you.',
  'signIn.submit': 'Sign in',

  'signInError.invalid_grant': 'The e-mail or the password is wrong.',
  'signInError.password_expired':
    'Your temporary password has expired. Ask your administrator for a new one.',
  'signInError.too_many_requests': 'There were too many attempts. Try again in {minutes} minutes.',
  'signInError.too_many_requests_minute': 'There were too many attempts. Try again in a minute.',
  'signInError.unavailable': 'Sign-in is not possible at the moment. Try again shortly.',
  'signInError.incomplete': 'Enter your e-mail and your password.',

  'newPassword.title': 'Choose a new password',
  'newPassword.text': 'Your password is temporary. Enter it once more, and choose your own.',
  'newPassword.submit': 'Save and sign in',

  'newPasswordError.too_short': 'The new password is too short. Use at least {count} characters.',
  'newPasswordError.too_long': 'The new password is too long.',
  'newPasswordError.too_common': 'The new password is too common or too easy to guess.',
  'newPasswordError.unchanged': 'The new password must differ from the temporary one.',

  'consent.title': 'Allow access?',
  'consent.text': '{client} would like to:',
  'consent.account': 'You are signed in as {email}.',
  'consent.allow': 'Allow',
  'consent.deny': 'Cancel',
  'scope.openid': 'recognize you at your next visit',
  'scope.email': 'see your e-mail address',
  'scope.profile': 'see your name',
  'scope.groups': 'see your groups, such as staff',
  'scope.offline_access': 'stay connected while you are away',
  'scope.tessera': 'read and change issues as you',
  'scope.other': 'use {scope}',

  'continue.title': 'One moment',
  'continue.text': 'You return to the application…',
  'continue.link': 'Continue',

  'account.title': 'You are signed in',
  'account.text': 'as {email}',
  'account.hint': 'Open the application that you want to use. It will not ask for your password.',

  'signOut.title': 'Sign out?',
  'signOut.text':
    'This ends your sign-in to {brand} in this browser. Applications may ask you to sign in again.',
  'signOut.client': '{client} asks to sign you out.',
  'signOut.submit': 'Sign out',
  'signOut.cancel': 'Stay signed in',

  'signedOut.title': 'You are signed out',
  'signedOut.text': 'You can close this page.',
  'signedOut.link': 'Continue to {client}',

  'refusal.unknown_client.title': 'This application is not known',
  'refusal.unknown_client.text':
    'The application that sent you here is not registered, or it has been disabled. Nothing was sent to it.',
  'refusal.redirect_uri.title': 'This sign-in cannot continue',
  'refusal.redirect_uri.text':
    'The application wants you to return to an address that is not registered for it. To protect you, nothing was sent there.',
  'refusal.sign_out_uri.title': 'This sign-out cannot continue',
  'refusal.sign_out_uri.text':
    'The application wants you to return to an address that is not registered for it. Your sign-in has not ended.',
  'refusal.bad_request.title': 'This link does not work',
  'refusal.bad_request.text': 'The request is not complete. Go back to the application, and try again.',
  'refusal.cross_site.title': 'This form came from another site',
  'refusal.cross_site.text':
    'To protect you, it was not accepted. Go back to the application, and sign in there.',
  'refusal.not_found.title': 'There is no such page',
  'refusal.not_found.text': 'Check the address, or go back to the application.',
  'refusal.too_many_requests.title': 'Too many attempts',
  'refusal.too_many_requests.text': 'Wait a few minutes, and try again.',
  'refusal.unavailable.title': 'This is not possible at the moment',
  'refusal.unavailable.text': 'Something does not work on our side. Try again shortly.',
  'refusal.reference': 'If you need help, give your administrator this reference:',
} as const;

export type MessageKey = keyof typeof en;

/** The texts of a language. A language without one of them does not compile. */
export type Messages = Readonly<Record<MessageKey, string>>;
