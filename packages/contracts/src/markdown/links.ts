// CommonMark 4.7 and 6.3: the parts of links and of their definitions.

const labelPattern = /\[((?:[^\\[\]]|\\[\s\S]){0,999})\]/y;
const titlePattern = /"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'|\((?:[^()\\]|\\[\s\S])*\)/y;
const bracketed = /<(?:[^<>\\\r\n]|\\.)*>/y;
const whiteSpace = /[ \t\r\n]*/y;
const blanks = /[ \t]*/y;
const depthMax = 32;

function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
}

/** Returns the form of a label in which labels are compared. */
export function normalizedLabel(label: string): string {
  return label.trim().replace(/\s+/g, ' ').toLowerCase().toUpperCase();
}

/** Returns the label in brackets at a place, and the place after it. */
export function labelAt(text: string, at: number): { label: string; end: number } | undefined {
  labelPattern.lastIndex = at;
  const label = labelPattern.exec(text)?.[1];
  return label === undefined ? undefined : { label, end: labelPattern.lastIndex };
}

function endOfDestination(text: string, at: number): number {
  if (text[at] === '<') return endOf(bracketed, text, at);
  let depth = 0;
  let place = at;
  for (; place < text.length; place += 1) {
    const code = text.charCodeAt(place);
    if (code <= 32 || code === 127) break;
    if (code === 92 && /[!-/:-@[-`{-~]/.test(text[place + 1] ?? '')) place += 1;
    else if (code === 40) {
      depth += 1;
      if (depth > depthMax) return -1;
    } else if (code === 41) {
      if (depth === 0) break;
      depth -= 1;
    }
  }
  return depth === 0 ? place : -1;
}

/** Returns the end of `(destination "title")` at a place, or -1. */
export function endOfResource(text: string, at: number): number {
  if (text[at] !== '(') return -1;
  const start = endOf(whiteSpace, text, at + 1);
  const destination = endOfDestination(text, start);
  if (destination < 0) return -1;
  let end = endOf(whiteSpace, text, destination);
  if (end > destination) {
    const title = endOf(titlePattern, text, end);
    if (title >= 0) end = endOf(whiteSpace, text, title);
  }
  return text[end] === ')' ? end + 1 : -1;
}

// A footnote is no definition, because its text must stay visible.
function definitionAt(text: string, at: number): { label: string; end: number } | undefined {
  const found = labelAt(text, at);
  if (found === undefined || found.label.trim() === '' || found.label.startsWith('^')) return undefined;
  if (text[found.end] !== ':') return undefined;
  const start = endOf(whiteSpace, text, found.end + 1);
  const destination = endOfDestination(text, start);
  if (destination <= start) return undefined;
  const label = normalizedLabel(found.label);
  const atLineEnd = (place: number) => {
    const end = endOf(blanks, text, place);
    return end === text.length ? end : text[end] === '\n' ? end + 1 : -1;
  };
  const beforeTitle = endOf(whiteSpace, text, destination);
  if (beforeTitle > destination) {
    const title = endOf(titlePattern, text, beforeTitle);
    const end = title < 0 ? -1 : atLineEnd(title);
    if (end >= 0) return { label, end };
  }
  const end = atLineEnd(destination);
  return end < 0 ? undefined : { label, end };
}

/** Returns the labels that the start of a paragraph defines, and the number of its lines that do so. */
export function definitionsIn(paragraph: string): { labels: string[]; lineCount: number } {
  const labels: string[] = [];
  let lineCount = 0;
  for (let at = 0; paragraph[at] === '['; ) {
    const found = definitionAt(paragraph, at);
    if (found === undefined) break;
    labels.push(found.label);
    // A definition ends with its line.
    for (; at < found.end; at += 1)
      if (paragraph.charCodeAt(at) === 10 || at === paragraph.length - 1) lineCount += 1;
  }
  return { labels, lineCount };
}
