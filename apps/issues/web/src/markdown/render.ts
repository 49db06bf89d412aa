import DOMPurify from 'dompurify';
import { htmlOf } from './markdown-html.ts';

DOMPurify.addHook('afterSanitizeAttributes', (element) => {
  if (element.nodeName === 'A') element.setAttribute('rel', 'noopener noreferrer nofollow');
  // Task lists are pictures of a state here.
  if (element.nodeName === 'INPUT') element.setAttribute('aria-label', 'Task');
});

const tags =
  'a blockquote br code del em h1 h2 h3 h4 h5 h6 hr input li ol p pre strong table tbody td th thead tr ul'.split(
    ' ',
  );

/** Shows Markdown in an element. Only elements and attributes that Markdown produces remain. */
export function renderMarkdown(element: HTMLElement, text: string): void {
  const trusted = DOMPurify.sanitize(htmlOf(text), {
    ALLOWED_TAGS: tags,
    ALLOWED_ATTR: ['href', 'rel', 'dir', 'align', 'start', 'type', 'checked', 'disabled', 'aria-label'],
    // Without this, their values would have to be URLs, too.
    ADD_URI_SAFE_ATTR: ['dir', 'align', 'start', 'type', 'checked', 'disabled'],
    ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|\/(?!\/)|#)/i,
    RETURN_TRUSTED_TYPE: true,
  });
  // The DOM types know no TrustedHTML.
  element.innerHTML = trusted as unknown as string;
}
