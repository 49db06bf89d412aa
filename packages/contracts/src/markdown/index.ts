export { type MarkdownParts, readMarkdown } from './code.ts';
export { type Range, testOf } from './line.ts';
export { mentionedNames, namesMax, startedMention } from './mentions.ts';
