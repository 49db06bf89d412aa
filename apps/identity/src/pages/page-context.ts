import type { IncomingMessage } from 'node:http';
import type { Asset } from './assets.ts';
import type { Branding } from './branding.ts';
import { type Html, type HtmlValue, html } from './html.ts';
import { directionOf, selectLocale } from './locale.ts';
import { fillHtml, fillText, type MessageKey, type Messages } from './messages/messages.ts';

/** What all pages of a request share. */
export interface PageContext {
  brand: string;
  logo: Asset;
  /** Whether the logo is that of the operator. It may contain the name. */
  hasOwnLogo: boolean;
  style: Asset;
  clientLogoOf: (clientId: string) => Asset | undefined;
  locale: string;
  direction: 'ltr' | 'rtl';
  messages: Messages;
}

/** @param uiLocales the parameter `ui_locales` of an authorization request */
export function pageContext(
  branding: Branding,
  request: Pick<IncomingMessage, 'headers'>,
  uiLocales?: string,
): PageContext {
  const { name, logo, hasOwnLogo, style, clientLogos, messages } = branding;
  const acceptLanguage = request.headers['accept-language'];
  const locale = selectLocale([...messages.keys()], { uiLocales, acceptLanguage });
  const found = messages.get(locale);
  if (found === undefined) throw new Error(`There are no messages in ${locale}.`);
  return {
    brand: name,
    logo,
    hasOwnLogo,
    style,
    clientLogoOf: (id) => clientLogos.get(id),
    locale,
    direction: directionOf(locale),
    messages: found,
  };
}

/** A message as text, for a title or an attribute. */
export function textOf(
  { messages }: PageContext,
  key: MessageKey,
  values: Readonly<Record<string, string | number>> = {},
): string {
  return fillText(messages[key], values);
}

/** A message as HTML. A text of a person or of a client keeps its own direction in `bdi`. */
export function messageOf(
  { messages }: PageContext,
  key: MessageKey,
  values: Readonly<Record<string, HtmlValue>> = {},
): Html {
  return fillHtml(messages[key], values);
}

/** A name that others have chosen. */
export function nameOf(text: string): Html {
  return html`<bdi class="name">${text}</bdi>`;
}
