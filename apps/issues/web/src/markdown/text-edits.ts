/** A change of a text: what replaces the part between two places, and the selection after it. */
interface TextEdit {
  from: number;
  to: number;
  text: string;
  selection: readonly [start: number, end: number];
}

type Selected = Pick<HTMLTextAreaElement, 'value' | 'selectionStart' | 'selectionEnd'>;

/** Makes a change as typing does: the browser's undo takes it back, and the field reports it. */
export function applyEdit(field: HTMLTextAreaElement, { from, to, text, selection }: TextEdit): void {
  field.focus();
  field.setSelectionRange(from, to);
  // No other way keeps the undo of the field. An empty text is a deletion.
  if (text === '' && from < to) document.execCommand('delete');
  else document.execCommand('insertText', false, text);
  field.setSelectionRange(...selection);
}

const signs: Readonly<Record<string, string>> = { b: '**', i: '_' };

/** The change of a key that is pressed with Ctrl or ⌘: bold, italics, a link of what is selected. */
export function editOfKey(
  key: string,
  { value, selectionStart, selectionEnd }: Selected,
): TextEdit | undefined {
  const chosen = value.slice(selectionStart, selectionEnd);
  const pressed = key.toLowerCase();
  // Without a selection, the key opens the commands.
  if (pressed === 'k') return chosen === '' ? undefined : linkOf(chosen, selectionStart, selectionEnd);
  const sign = signs[pressed];
  if (sign === undefined) return undefined;
  const [from, to] = [selectionStart - sign.length, selectionEnd + sign.length];
  if (from >= 0 && value.slice(from, selectionStart) === sign && value.slice(selectionEnd, to) === sign)
    return { from, to, text: chosen, selection: [from, from + chosen.length] };
  const start = selectionStart + sign.length;
  return {
    from: selectionStart,
    to: selectionEnd,
    text: sign + chosen + sign,
    selection: [start, start + chosen.length],
  };
}

/** A link whose text or, for an address, whose target is selected. The caret goes where the other is missing. */
function linkOf(chosen: string, from: number, to: number): TextEdit {
  const isAddress = /^https?:\/\/\S+$/i.test(chosen);
  const text = isAddress ? `[](${chosen})` : `[${chosen}]()`;
  const caret = from + (isAddress ? 1 : text.length - 1);
  return { from, to, text, selection: [caret, caret] };
}

const listItem = /^([ \t]*(?:>[ \t]?)*)(?:([-*+])|(\d{1,8})([.)]))([ \t]+)(\[[ xX]\][ \t]+)?/;
const quote = /^[ \t]*(?:>[ \t]?)+/;

/** The change of Enter in a list or quote: the next item, or the end of it in an empty one. */
export function nextItem({ value, selectionStart: caret, selectionEnd }: Selected): TextEdit | undefined {
  if (caret !== selectionEnd) return undefined;
  const from = value.lastIndexOf('\n', caret - 1) + 1;
  const line = value.slice(from, caret);
  const item = listItem.exec(line);
  const marker = item?.[0] ?? quote.exec(line)?.[0];
  if (marker === undefined) return undefined;
  const isEmpty = marker.length === line.length && /^(?:\n|$)/.test(value.slice(caret, caret + 1));
  if (isEmpty) return { from, to: caret, text: '', selection: [from, from] };
  const [, before = '', bullet, number, end = '', blank = '', box] = item ?? [];
  const sign = bullet ?? `${Number(number) + 1}${end}`;
  const next = item === null ? marker : `${before}${sign}${blank}${box === undefined ? '' : '[ ] '}`;
  const after = caret + 1 + next.length;
  return { from: caret, to: caret, text: `\n${next}`, selection: [after, after] };
}

const quotedMax = 4_000;

/** The change that adds a text as a quote at the end of another one. */
export function quoteEdit(value: string, quoted: string): TextEdit {
  const cut = quoted.trim().slice(0, quotedMax);
  const lines = `${cut}${cut.length < quoted.trim().length ? '…' : ''}`.split('\n');
  const gap = value === '' ? '' : value.endsWith('\n\n') ? '' : value.endsWith('\n') ? '\n' : '\n\n';
  const text = `${gap}${lines.map((line) => `> ${line}`.trimEnd()).join('\n')}\n\n`;
  const end = value.length + text.length;
  return { from: value.length, to: value.length, text, selection: [end, end] };
}
