import { type ProblemEntry, problemReference, problemsPath } from '@tessera/contracts';
import { type PreparedDocument, prepareBytes, sendPreparedDocument } from './prepared-document.ts';
import { ProblemError } from './problem.ts';
import { documentRoute, type Route } from './route.ts';

const headers = { 'Cache-Control': 'public, max-age=300' };

/**
 * Returns the routes of the reference of errors: one page for each code, to which the `type` of an error refers, and a list. The
 * pages have no scripts, styles or pictures, so that the strict policy of every response fits.
 */
export function problemPageRoutes(): Route[] {
  const pages = new Map(
    Object.entries(problemReference).map(([code, entry]) => [
      code,
      preparePage(titleOf(code), entryOf(code, entry)),
    ]),
  );
  const items = [...pages.keys()].map(
    (code) => `<li><a href="${problemsPath}/${code}">${titleOf(code)}</a> (<code>${code}</code>)</li>`,
  );
  const list = preparePage('Errors', `<ul>\n${items.join('\n')}\n</ul>`);
  return [
    documentRoute({ method: 'GET', path: problemsPath }, list),
    {
      ...documentRoute({ method: 'GET', path: `${problemsPath}/:code` }, list),
      serve: (request, response) => {
        const page = pages.get(String(request.params?.code));
        if (page === undefined)
          throw new ProblemError({ status: 404, code: 'not_found', detail: 'There is no such code.' });
        sendPreparedDocument(request, response, page);
      },
    },
  ];
}

/** `version_conflict` is "Version conflict". */
function titleOf(code: string): string {
  const words = code.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function entryOf(code: string, { meaning, action }: ProblemEntry): string {
  return `<p><code>${code}</code></p>
<p>${toHtml(meaning)}</p>
<p><b>What to do:</b> ${toHtml(action)}</p>
<p><a href="${problemsPath}">All errors</a></p>`;
}

/** Writes the code spans of Markdown, and nothing else of it. */
function toHtml(text: string): string {
  return escapeHtml(text).replace(/`([^`]*)`/g, '<code>$1</code>');
}

function preparePage(title: string, content: string): PreparedDocument {
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<h1>${title}</h1>
${content}
</html>
`;
  return prepareBytes(Buffer.from(html), 'text/html; charset=utf-8', headers);
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
