import { html } from './html.ts';
import { renderPage } from './page.ts';
import { type PageContext, textOf } from './page-context.ts';

export type RefusalKind =
  | 'unknown_client'
  | 'redirect_uri'
  | 'sign_out_uri'
  | 'bad_request'
  | 'cross_site'
  | 'not_found'
  | 'too_many_requests'
  | 'unavailable';

interface RefusalView {
  context: PageContext;
  kind: RefusalKind;
  /** The request id, by which the administrator finds the reason. The page does not tell it. */
  id: string;
}

/** Refuses a request that cannot be answered at the client. */
export function refusalPage({ context, kind, id }: RefusalView): string {
  return renderPage({
    context,
    title: textOf(context, `refusal.${kind}.title`),
    subtitle: textOf(context, `refusal.${kind}.text`),
    content: html`<p class="reference">${textOf(context, 'refusal.reference')} <code>${id}</code></p>`,
  });
}
