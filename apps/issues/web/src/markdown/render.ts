import type { AttachedFile } from '@tessera/contracts';
import DOMPurify from 'dompurify';
import { htmlOf } from './markdown-html.ts';
import { portionAt } from './portion.ts';
import { linkReferences, type References } from './references.ts';

const contentOfFile = /^\/app\/api\/v1\/attachments\/[0-9a-f-]{36}\/content\/$/;

DOMPurify.addHook('afterSanitizeAttributes', (element) => {
  if (element.nodeName === 'A') element.setAttribute('rel', 'noopener noreferrer nofollow');
  // The page stays when a file is opened.
  if (contentOfFile.test(element.getAttribute('href') ?? '')) element.setAttribute('target', '_blank');
  if (element.nodeName === 'IMG' && !contentOfFile.test(element.getAttribute('src') ?? '')) element.remove();
  if (element.nodeName === 'INPUT') element.setAttribute('aria-label', nameOf(element));
});

const nameMax = 100;

/** The text of the item of a box. */
function nameOf(box: Element): string {
  const text = box.parentElement?.textContent?.trim().slice(0, nameMax) ?? '';
  return text === '' ? 'Task' : text;
}

const tags =
  'a blockquote br code del em h1 h2 h3 h4 h5 h6 hr img input li ol p pre strong table tbody td th thead tr ul'.split(
    ' ',
  );

interface Rendering {
  element: HTMLElement;
  text: string;
  references: References;
  files: readonly AttachedFile[];
  /** The boxes of lists can be changed. */
  isEditable: boolean;
  isCurrent: () => boolean;
}

const waiting: Rendering[] = [];
let isRunning = false;
// A longer task delays the answer to a key.
const turnMs = 16;

/** Renders texts one after the other, and lets the page respond in between. */
export async function renderInTurn(rendering: Rendering): Promise<void> {
  waiting.push(rendering);
  if (isRunning) return;
  isRunning = true;
  let start = performance.now();
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    for (const step of stepsOf(next)) {
      if (!next.isCurrent()) break;
      step();
      if (performance.now() - start < turnMs) continue;
      await new Promise((resolve) => setTimeout(resolve));
      start = performance.now();
    }
  }
  isRunning = false;
}

/** Shows Markdown in an element, one portion in each step. */
function* stepsOf({ element, text, references, files, isEditable }: Rendering): Generator<() => void> {
  let portions: string[] | undefined;
  yield () => {
    try {
      portions = htmlOf(text, files);
    } catch (error) {
      reportError(error);
    }
  };
  if (portions === undefined) yield () => showAsWritten(element, text);
  const link = linkReferences(references);
  for (const [place, html] of portions?.entries() ?? [])
    yield () => {
      if (place === 0) element.textContent = '';
      const part = sanitized(html);
      link(part);
      limitPictures(part);
      if (isEditable) enableTasks(part);
      element.append(part);
      // Otherwise the layout of all portions would be one task.
      if (portions !== undefined && portions.length > 1) element.getBoundingClientRect();
    };
}

/** Only elements and attributes that Markdown produces remain. */
function sanitized(html: string): DocumentFragment {
  return DOMPurify.sanitize(html, {
    ALLOWED_TAGS: tags,
    ALLOWED_ATTR: [
      'href',
      'rel',
      'dir',
      'align',
      'start',
      'type',
      'checked',
      'disabled',
      'aria-label',
      'data-line',
      'src',
      'alt',
      'width',
      'height',
      'loading',
    ],
    // Without this, their values would have to be URLs, too.
    ADD_URI_SAFE_ATTR: ['dir', 'align', 'start', 'type', 'checked', 'disabled', 'width', 'height', 'loading'],
    ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|\/(?!\/)|#)/i,
    RETURN_DOM_FRAGMENT: true,
  });
}

const pictureHeight = 480;

/** A high picture is narrower. Its own width and height stay, so that its place is known before it is loaded. */
function limitPictures(part: DocumentFragment): void {
  for (const picture of part.querySelectorAll('img')) {
    const width =
      (pictureHeight * Number(picture.getAttribute('width'))) / Number(picture.getAttribute('height'));
    picture.style.maxWidth = `min(100%, ${width}px)`;
  }
}

function enableTasks(part: DocumentFragment): void {
  for (const box of part.querySelectorAll<HTMLInputElement>('input[data-line]')) box.disabled = false;
}

function showAsWritten(element: HTMLElement, text: string): void {
  const note = document.createElement('p');
  note.className = 'muted';
  note.textContent = 'This text is too complex to format, so it is shown as it was written.';
  const more = document.createElement('button');
  more.type = 'button';
  more.className = 'quiet';
  let end = 0;
  const showMore = () => {
    const portion = portionAt(text, end);
    end += portion.length;
    const written = document.createElement('p');
    written.className = 'as-written';
    written.dir = 'auto';
    written.textContent = portion;
    more.before(written);
    more.hidden = end >= text.length;
    more.textContent = `Show more (${(text.length - end).toLocaleString('en')} characters)`;
  };
  more.addEventListener('click', showMore);
  element.replaceChildren(note, more);
  showMore();
}
