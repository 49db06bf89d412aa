import { hiddenFields } from './form.ts';
import { type Html, html } from './html.ts';
import type { MessageKey } from './messages/messages.ts';
import { renderPage } from './page.ts';
import { messageOf, nameOf, type PageContext, textOf } from './page-context.ts';
import type { SignInView } from './sign-in-page.ts';

interface ConsentView extends Pick<SignInView, 'context' | 'action' | 'fields'> {
  client: { id: string; name: string };
  email: string;
  /** The scopes and audiences that the client asks for. */
  scopes: readonly string[];
}

/** Asks whether a client that is not first-party may have access. The buttons send `decision`: `allow` or `deny`. */
export function consentPage({ context, action, fields, client, email, scopes }: ConsentView): string {
  return renderPage({
    context,
    title: textOf(context, 'consent.title'),
    subtitle: messageOf(context, 'consent.text', { client: nameOf(client.name) }),
    client,
    content: html`<form method="post" action="${action}">
${hiddenFields(fields)}
<ul class="scopes">
${scopes.map((scope) => html`<li>${scopeText(context, scope)}</li>\n`)}
</ul>
<p class="note">${messageOf(context, 'consent.account', { email: nameOf(email) })}</p>
<button name="decision" value="allow">${textOf(context, 'consent.allow')}</button>
<button class="second" name="decision" value="deny">${textOf(context, 'consent.deny')}</button>
</form>`,
  });
}

function scopeText(context: PageContext, scope: string): Html {
  const key = `scope.${scope}`;
  if (scope !== 'other' && Object.hasOwn(context.messages, key)) return messageOf(context, key as MessageKey);
  return messageOf(context, 'scope.other', { scope: nameOf(scope) });
}
