import { hiddenFields } from './form.ts';
import { html } from './html.ts';
import { renderPage } from './page.ts';
import { messageOf, nameOf, type PageContext, textOf } from './page-context.ts';
import type { SignInView } from './sign-in-page.ts';

interface SignOutView extends Pick<SignInView, 'context' | 'action' | 'fields' | 'client'> {
  email?: string | undefined;
}

/** Asks whether to sign out. The buttons send `decision`: `sign_out` or `stay`. */
export function signOutPage({ context, action, fields, client, email }: SignOutView): string {
  return renderPage({
    context,
    title: textOf(context, 'signOut.title'),
    subtitle: messageOf(context, 'signOut.text', { brand: nameOf(context.brand) }),
    client,
    content: html`<form method="post" action="${action}">
${hiddenFields(fields)}
${
  client !== undefined &&
  html`<p class="note">${messageOf(context, 'signOut.client', { client: nameOf(client.name) })}</p>`
}
${email !== undefined && html`<p class="note">${messageOf(context, 'consent.account', { email: nameOf(email) })}</p>`}
<button name="decision" value="sign_out">${textOf(context, 'signOut.submit')}</button>
<button class="second" name="decision" value="stay">${textOf(context, 'signOut.cancel')}</button>
</form>`,
  });
}

interface SignedOutView {
  context: PageContext;
  /** Where the client wants the person to return; registered for it. */
  next?: { name: string; to: string } | undefined;
}

/** Says that the session has ended. */
export function signedOutPage({ context, next }: SignedOutView): string {
  return renderPage({
    context,
    title: textOf(context, 'signedOut.title'),
    subtitle: textOf(context, 'signedOut.text'),
    content:
      next !== undefined &&
      html`<p><a class="button second" href="${next.to}">${messageOf(context, 'signedOut.link', { client: nameOf(next.name) })}</a></p>`,
  });
}
