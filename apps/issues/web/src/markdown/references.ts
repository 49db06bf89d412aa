import type { Person } from '@tessera/contracts';

export interface References {
  /** The first part of the keys of issues, such as `ISS`. */
  prefix: string;
  /** The people that the text mentions, as the service has found them. */
  people: readonly Person[];
}

/** Of one text; the rest stays text, so that a text of thousands of keys costs a reader a bounded time. */
const referencesMax = 300;

const mention = /(?<![\p{L}\p{N}@\\_+-])@([\p{L}\p{N}_][\p{L}\p{N}\p{M}_.+-]*)/gu;

/** Returns a function that makes links of the mentions and the keys of issues in a part of a text. */
export function linkReferences({ prefix, people }: References): (part: DocumentFragment) => void {
  const key = new RegExp(`(?<![\\p{L}\\p{N}_/#&@.-])(?:${prefix}-|#)(\\d{1,9})(?![\\p{L}\\p{N}_-])`, 'giu');
  let left = referencesMax;
  return (part) => {
    const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
    const texts: Text[] = [];
    while (walker.nextNode()) {
      const text = walker.currentNode as Text;
      if (/[@#-]/.test(text.data) && text.parentElement?.closest('a, code, pre') == null) texts.push(text);
    }
    for (const text of texts) {
      const links = [...keysIn(text.data, key, prefix), ...mentionsIn(text.data, people)];
      links.sort((one, other) => one.start - other.start);
      const shown = links.slice(0, left);
      left -= shown.length;
      replace(text, shown);
    }
  };
}

type Named = Person & { username: string };

interface Found {
  start: number;
  end: number;
  link: HTMLAnchorElement;
}

function keysIn(text: string, key: RegExp, prefix: string): Found[] {
  return Array.from(text.matchAll(key), ({ 0: { length }, 1: number, index: start }) => {
    const name = `${prefix}-${Number(number)}`;
    const link = linkTo(`/issues/${name}`);
    link.dataset.issue = name;
    return { start, end: start + length, link };
  });
}

function mentionsIn(text: string, people: readonly Person[]): Found[] {
  return Array.from(text.matchAll(mention)).flatMap(({ 1: name = '', index: start }) => {
    const person = personOf(name.normalize('NFC').toLowerCase(), people);
    if (person === undefined) return [];
    const link = linkTo(`/issues?assignee=${person.id}&state=all`);
    link.className = 'mention';
    link.dataset.person = person.id;
    return [{ start, end: start + 1 + person.username.length, link }];
  });
}

/** A username ends where the name does, or before punctuation or another script. */
function personOf(name: string, people: readonly Person[]): Named | undefined {
  return people
    .filter((person): person is Named => {
      const { username } = person;
      if (username === null) return false;
      const known = username.normalize('NFC').toLowerCase();
      return name.startsWith(known) && !/^[.+-]*[A-Za-z0-9_]/.test(name.slice(known.length));
    })
    .sort((one, other) => other.username.length - one.username.length)[0];
}

function linkTo(href: string): HTMLAnchorElement {
  const link = document.createElement('a');
  link.href = href;
  return link;
}

function replace(text: Text, links: readonly Found[]): void {
  const { data } = text;
  let end = 0;
  for (const found of links) {
    if (found.start < end) continue;
    text.before(data.slice(end, found.start), found.link);
    found.link.append(data.slice(found.start, found.end));
    end = found.end;
  }
  if (end > 0) text.data = data.slice(end);
}
