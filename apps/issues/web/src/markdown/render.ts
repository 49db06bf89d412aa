import DOMPurify from 'dompurify';
import { Marked } from 'marked';

const marked = new Marked({ gfm: true, breaks: true });

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

marked.use({
  renderer: {
    // Shown as text. Otherwise the parser of the sanitizer would request scripts and images, which the policy blocks.
    html: ({ text }) => escapeHtml(text),
    // An image of another site would report its readers there, and the policy blocks it.
    image: ({ href, text }) => `<a href="${escapeHtml(href)}">${escapeHtml(text || href)}</a>`,
    // The page has the headings of the levels 1 and 2.
    heading({ tokens, depth }) {
      const level = Math.min(depth + 2, 6);
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
    },
  },
});

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
  const html = marked.parse(text, { async: false });
  const trusted = DOMPurify.sanitize(html, {
    ALLOWED_TAGS: tags,
    ALLOWED_ATTR: ['href', 'rel', 'align', 'start', 'type', 'checked', 'disabled', 'aria-label'],
    // Without this, their values would have to be URLs, too.
    ADD_URI_SAFE_ATTR: ['align', 'start', 'type', 'checked', 'disabled'],
    ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|\/(?!\/)|#)/i,
    RETURN_TRUSTED_TYPE: true,
  });
  // The DOM types know no TrustedHTML.
  element.innerHTML = trusted as unknown as string;
}
