import { hiddenFields } from './form.ts';
import { html } from './html.ts';
import { renderPage } from './page.ts';
import { messageOf, nameOf, textOf } from './page-context.ts';
import type { SignInView } from './sign-in-page.ts';

interface AccountView extends Pick<SignInView, 'context' | 'fields'> {
  email: string;
  /** The address of the form that signs out. */
  signOutAction: string;
}

/** The page of a signed-in person if no application has sent the person here. */
export function accountPage({ context, email, signOutAction, fields }: AccountView): string {
  return renderPage({
    context,
    title: textOf(context, 'account.title'),
    subtitle: messageOf(context, 'account.text', { email: nameOf(email) }),
    content: html`<p class="note">${textOf(context, 'account.hint')}</p>
<form method="post" action="${signOutAction}">
${hiddenFields(fields)}
<button class="second">${textOf(context, 'signOut.submit')}</button>
</form>`,
  });
}
