import type { MarkdownIt, StateInline, Token } from 'markdown-it';

// The limits of the work that a text causes for a reader. Together, the limits keep each task of the page far below 0.2 seconds; measured in Chromium,
// an element costs 0.02 ms to sanitize, and a letter that must be shaped, in a block of some thousand, as much to lay out.
/** Elements, and pieces of text that are tokens of their own at half of that: of a text, and of one block of it. */
const partsMax = 12_000;
const partsOfBlockMax = 4_000;
/** Letters of scripts that must be shaped or change directions, in one block. Their layout takes longer than their number. */
const shapedMax = 3_000;
const linesMax = 5_000;
/** Steps of the parser of about a third of a nanosecond. */
const stepsMax = 100_000_000;
const stepsOfLine = 1_000;
// The parser leaves out what is deeper than 100 elements.
const depthMax = 90;
/** Of a portion that is shown in one task. */
const partsAtOnce = 1_000;
const lengthAtOnce = 8_000;

// From each of these signs the parser may look for its counterpart up to the end of the paragraph.
const openers = /[\\`*_~[\]!<&:(]/g;
// All but Latin, Cyrillic, Chinese, Japanese and Korean.
const shaped =
  /[^\n\u0020-\u024f\u0400-\u04ff\u2010-\u203a\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff00-\uffef]/g;

/** The text costs more than a limit. */
export class TooMuchWork extends Error {}

/** Makes the parser throw `TooMuchWork` before it costs a reader too much. `parse` needs an environment. */
export function limitWork(markdown: MarkdownIt): void {
  const { block, inline } = markdown;
  class Block extends block.State {
    override push(type: string, tag: string, nesting: -1 | 0 | 1) {
      countPart(this.env, tag, nesting);
      // Code of more lines is in two elements.
      if (tag === 'code') countPart(this.env, tag, nesting);
      return super.push(type, tag, nesting);
    }
  }
  class Inline extends inline.State {
    constructor(...args: ConstructorParameters<typeof StateInline>) {
      super(...args);
      countSteps(this.env, this.src.length * (1 + countOf(openers, this.src)));
    }
    override push(type: string, tag: string, nesting: -1 | 0 | 1) {
      countPart(this.env, tag, nesting);
      return super.push(type, tag, nesting);
    }
  }
  block.State = Block;
  inline.State = Inline;
  const tokenize = block.tokenize.bind(block);
  block.tokenize = (state, start, end) => {
    if (state.level > depthMax) throw new TooMuchWork();
    // Each quote reads all its lines, before the quotes in it do.
    if (state.parentType === 'blockquote') countSteps(state.env, (end - start) * stepsOfLine);
    tokenize(state, start, end);
  };
}

/** Counts a token of the parser, by the element that it becomes. */
export function countPart(env: object, tag: string, nesting: -1 | 0 | 1): void {
  if (nesting < 0) return;
  const costs = costsOf(env);
  costs.parts += tag === '' ? 0.5 : 1;
  if (costs.parts > partsMax) throw new TooMuchWork();
}

function countSteps(env: object, count: number): void {
  const costs = costsOf(env);
  costs.steps += count;
  if (costs.steps > stepsMax) throw new TooMuchWork();
}

const spent = new WeakMap<object, { parts: number; steps: number }>();

/** The costs so far of the text of an environment. */
function costsOf(env: object) {
  const costs = spent.get(env) ?? { parts: 0, steps: 0 };
  spent.set(env, costs);
  return costs;
}

/** Divides the tokens of a text into portions of whole blocks, each for a task of its own. */
export function portionsOf(tokens: readonly Token[]): Token[][] {
  const portions: Token[][] = [];
  let portion: Token[] = [];
  let [parts, length] = [0, 0];
  for (const block of blocksOf(tokens)) {
    const cost = costOf(block);
    if (parts + cost.parts > partsAtOnce || length + cost.length > lengthAtOnce) {
      portions.push(portion);
      portion = [];
      [parts, length] = [0, 0];
    }
    for (const token of block) portion.push(token);
    parts += cost.parts;
    length += cost.length;
  }
  portions.push(portion);
  return portions;
}

function* blocksOf(tokens: readonly Token[]): Generator<Token[]> {
  let start = 0;
  for (const [place, { level, nesting }] of tokens.entries()) {
    if (level > 0 || nesting > 0) continue;
    yield tokens.slice(start, place + 1);
    start = place + 1;
  }
}

function costOf(block: readonly Token[]): { parts: number; length: number } {
  let [parts, length] = [0, 0];
  for (const { type, tag, nesting, content, children } of block) {
    length += content.length;
    // Its lines are shown with breaks.
    if (type === 'html_block') parts += countOf(/\n/g, content);
    for (const token of [{ tag, nesting }, ...(children ?? [])])
      if (token.nesting >= 0) parts += token.tag === '' ? 0.5 : 1;
    if (countOf(shaped, content) > shapedMax || countOf(/\n/g, content) > linesMax) throw new TooMuchWork();
  }
  if (parts > partsOfBlockMax) throw new TooMuchWork();
  return { parts, length };
}

function countOf(pattern: RegExp, text: string): number {
  return text.match(pattern)?.length ?? 0;
}
