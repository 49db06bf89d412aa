import { html } from './html.ts';
import { renderPage } from './page.ts';
import { type PageContext, textOf } from './page-context.ts';

const refused = /^(?:javascript|data|vbscript|blob|file|about|view-source):/i;

/**
 * Goes on to a client after a form. A redirect would be blocked by `form-action 'self'` of the page with the form.
 * @param to a redirect URI of the client, or a path of the service
 */
export function continuePage({ context, to }: { context: PageContext; to: string }): string {
  if (!/^\/(?![/\\])/.test(to) && (!URL.canParse(to) || refused.test(to.trim())))
    throw new Error('This is not an address of a client.');
  return renderPage({
    context,
    title: textOf(context, 'continue.title'),
    subtitle: textOf(context, 'continue.text'),
    refreshTo: to,
    content: html`<p class="later"><a class="button second" href="${to}">${textOf(context, 'continue.link')}</a></p>`,
  });
}
