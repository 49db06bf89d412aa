import type { Messages } from './en.ts';

export const de: Messages = {
  'error.title': 'Fehler: {title}',

  'field.email': 'E-Mail',
  'field.password': 'Passwort',
  'field.temporaryPassword': 'Vorläufiges Passwort',
  'field.newPassword': 'Neues Passwort',
  'field.newPasswordHint':
    'Mindestens {count} Zeichen. Einige Wörter ohne Zusammenhang sind leicht zu merken und schwer zu erraten.',

  'signIn.title': 'Anmelden',
  'signIn.client': 'weiter zu {client}',
  'signIn.brand': 'bei {brand}',
  'signIn.again': 'Bestätigen Sie bitte, dass Sie es sind.',
  'signIn.submit': 'Anmelden',

  'signInError.invalid_grant': 'E-Mail oder Passwort ist falsch.',
  'signInError.password_expired':
    'Ihr vorläufiges Passwort ist abgelaufen. Bitten Sie Ihre Administration um ein neues.',
  'signInError.too_many_requests': 'Es gab zu viele Versuche. Versuchen Sie es in {minutes} Minuten erneut.',
  'signInError.too_many_requests_minute':
    'Es gab zu viele Versuche. Versuchen Sie es in einer Minute erneut.',
  'signInError.unavailable': 'Die Anmeldung ist gerade nicht möglich. Versuchen Sie es gleich noch einmal.',
  'signInError.incomplete': 'Geben Sie E-Mail und Passwort ein.',

  'newPassword.title': 'Neues Passwort wählen',
  'newPassword.text': 'Ihr Passwort ist vorläufig. Geben Sie es noch einmal ein, und wählen Sie ein eigenes.',
  'newPassword.submit': 'Speichern und anmelden',

  'newPasswordError.too_short': 'Das neue Passwort ist zu kurz. Nehmen Sie mindestens {count} Zeichen.',
  'newPasswordError.too_long': 'Das neue Passwort ist zu lang.',
  'newPasswordError.too_common': 'Das neue Passwort ist zu verbreitet oder zu leicht zu erraten.',
  'newPasswordError.unchanged': 'Das neue Passwort muss sich vom vorläufigen unterscheiden.',

  'consent.title': 'Zugriff erlauben?',
  'consent.text': '{client} möchte:',
  'consent.account': 'Sie sind als {email} angemeldet.',
  'consent.allow': 'Erlauben',
  'consent.deny': 'Abbrechen',
  'scope.openid': 'Sie beim nächsten Besuch wiedererkennen',
  'scope.email': 'Ihre E-Mail-Adresse sehen',
  'scope.profile': 'Ihren Namen sehen',
  'scope.groups': 'Ihre Gruppen sehen, etwa „staff“',
  'scope.offline_access': 'auch in Ihrer Abwesenheit verbunden bleiben',
  'scope.tessera': 'in Ihrem Namen Vorgänge lesen und ändern',
  'scope.other': '{scope} verwenden',

  'continue.title': 'Einen Moment',
  'continue.text': 'Es geht zurück zur Anwendung …',
  'continue.link': 'Weiter',

  'account.title': 'Sie sind angemeldet',
  'account.text': 'als {email}',
  'account.hint': 'Öffnen Sie die gewünschte Anwendung. Sie fragt nicht nach Ihrem Passwort.',

  'signOut.title': 'Abmelden?',
  'signOut.text':
    'Ihre Anmeldung bei {brand} endet in diesem Browser. Anwendungen können Sie dann erneut um die Anmeldung bitten.',
  'signOut.client': '{client} möchte Sie abmelden.',
  'signOut.submit': 'Abmelden',
  'signOut.cancel': 'Angemeldet bleiben',

  'signedOut.title': 'Sie sind abgemeldet',
  'signedOut.text': 'Sie können diese Seite schließen.',
  'signedOut.link': 'Weiter zu {client}',

  'refusal.unknown_client.title': 'Diese Anwendung ist nicht bekannt',
  'refusal.unknown_client.text':
    'Die Anwendung, von der Sie kommen, ist nicht registriert oder wurde gesperrt. Es wurde nichts an sie gesendet.',
  'refusal.redirect_uri.title': 'Diese Anmeldung kann nicht fortgesetzt werden',
  'refusal.redirect_uri.text':
    'Die Anwendung möchte Sie zu einer Adresse schicken, die nicht für sie registriert ist. Zu Ihrem Schutz wurde nichts dorthin gesendet.',
  'refusal.sign_out_uri.title': 'Diese Abmeldung kann nicht fortgesetzt werden',
  'refusal.sign_out_uri.text':
    'Die Anwendung möchte Sie zu einer Adresse schicken, die nicht für sie registriert ist. Ihre Anmeldung ist nicht beendet.',
  'refusal.bad_request.title': 'Dieser Link funktioniert nicht',
  'refusal.bad_request.text':
    'Die Anfrage ist unvollständig. Gehen Sie zurück zur Anwendung, und versuchen Sie es erneut.',
  'refusal.cross_site.title': 'Dieses Formular kam von einer anderen Website',
  'refusal.cross_site.text':
    'Zu Ihrem Schutz wurde es nicht angenommen. Gehen Sie zurück zur Anwendung, und melden Sie sich dort an.',
  'refusal.not_found.title': 'Diese Seite gibt es nicht',
  'refusal.not_found.text': 'Prüfen Sie die Adresse, oder gehen Sie zurück zur Anwendung.',
  'refusal.too_many_requests.title': 'Zu viele Versuche',
  'refusal.too_many_requests.text': 'Warten Sie einige Minuten, und versuchen Sie es erneut.',
  'refusal.unavailable.title': 'Das ist gerade nicht möglich',
  'refusal.unavailable.text': 'Bei uns ist etwas gestört. Versuchen Sie es gleich noch einmal.',
  'refusal.reference': 'Wenn Sie Hilfe brauchen, nennen Sie Ihrer Administration diese Kennung:',
};
