import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { micromark } from 'micromark';
import { gfm, gfmHtml } from 'micromark-extension-gfm';
import { type DefaultTreeAdapterMap, parseFragment } from 'parse5';
import { canonicalText, neutralise } from '../src/trackers/tracker-text.ts';

type Node = DefaultTreeAdapterMap['node'];

// gjtorikian/html-pipeline, lib/html_pipeline/node_filter/mention_filter.rb: MENTION_PATTERNS and IGNORE_PARENTS.
// The look-ahead with a back reference is Ruby's atomic group.
const mentionPattern = /(?:^|\W)@(?=([a-z0-9][a-z0-9-]*))\1(?!\/)(?=\.+[ \t\W]|\.+$|[^0-9a-zA-Z_.]|$)/gim;
const ignoredParents = new Set(['pre', 'code', 'a', 'style', 'script']);

// A sign without a following zero-width space. A text without such a sign contains no mention, which saves the slow
// rendering.
const openSign = /(?:@|&commat;|&#0*64;|&#x0*40;)(?!\u200b)|&#0*64(?![\d;])|&#x0*40(?![\da-f;])/i;

/** Returns the users that a tracker would notify. Renders with a different parser than the code under test. */
function mentionsIn(markdown: string): string[] {
  if (!openSign.test(markdown)) return [];
  const html = micromark(markdown, {
    extensions: [gfm()],
    htmlExtensions: [gfmHtml()],
    allowDangerousHtml: true,
  });
  return textsOf(parseFragment(html)).flatMap((text) => text.match(mentionPattern) ?? []);
}

/**
 * Returns the texts outside the ignored elements. Comments are removed as by a sanitiser, so the texts around them are
 * joined.
 */
function textsOf(node: Node): string[] {
  if (node.nodeName === '#text' && 'value' in node) return [node.value];
  if (!('childNodes' in node) || ignoredParents.has(node.nodeName)) return [];
  const texts: string[] = [];
  let joined = '';
  for (const child of node.childNodes) {
    if (child.nodeName === '#comment') continue;
    if (child.nodeName === '#text' && 'value' in child) {
      joined += child.value;
      continue;
    }
    texts.push(joined, ...textsOf(child));
    joined = '';
  }
  return [...texts, joined];
}

// gitlab-org/gitlab, lib/gitlab/quick_actions/extractor.rb: commands_regex. Ruby's /m is JavaScript's s, and its ^ and $ are
// those of JavaScript's m.
const commandsPattern =
  /(^```.+?\n```$)|(^.*`\n*.+?\n*`$)|(^<[^>]+?>\n.+?\n<\/[^>]+?>$)|(^>>>.+?\n>>>$)|(?:^\/(?<cmd>close|assign|label)(?:[ ](?<arg>[^\n]*))?(?:\s*\n|$))/gims;

function quickActionsIn(text: string): string[] {
  return Array.from(text.matchAll(commandsPattern), ({ groups }) => groups?.cmd ?? '').filter(
    (command) => command !== '',
  );
}

const pieces = [
  ...[
    '`',
    '``',
    '```',
    '```\n',
    '\n```\n',
    '~~~',
    '`@octocat`',
    '\n',
    '\n\n',
    '\n/close\n',
    '/close',
    '/assign @me',
  ],
  ...[
    '@',
    '@octocat',
    'cc/@octocat',
    '_@octocat_',
    '#',
    '#12',
    '/',
    '_',
    '*',
    '**',
    '~~',
    ' ',
    '  ',
    '    ',
    '\t',
  ],
  ...[
    'a',
    'octocat',
    '1',
    '> ',
    '- ',
    '1. ',
    '+ ',
    '[',
    ']',
    '](',
    ')',
    '[^1]:',
    '[a]: ',
    '!',
    '|',
    '|-|-|\n',
    '\n|a|b|\n',
  ],
  ...[
    '<',
    '>',
    '<!--',
    '-->',
    '<b>',
    '</b>',
    '<pre>',
    '</pre>',
    '<div>',
    '\n</div>\n',
    '<a b="',
    '"',
    '<?',
    '\\',
    '&',
  ],
  ...['&#64;', '&commat;', '&#x40;', '&#111;', ';', '$', 'é', '.', '-', '=', '---', 'http://h/', '>>>\n'],
];
const texts = fc
  .array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 24 })
  .map((parts) => parts.join(''));

// NEUTRALISE_TEXTS=1000000 npx pnpm@12 --filter @tessera/issues test neutralise
const numRuns = Number(process.env.NEUTRALISE_TEXTS ?? 500);
const seed = Number(process.env.NEUTRALISE_SEED ?? 1);

describe('a text sent to a tracker', () => {
  it('notifies no user, as Markdown of GitHub and Gitea', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const given = canonicalText(text);
        const sent = neutralise(given, 'markdown');
        expect(mentionsIn(sent)).toEqual([]);
        expect(canonicalText(sent)).toBe(given);
      }),
      { numRuns, seed },
    );
  }, 3_600_000);

  it('notifies no user and executes no quick action of GitLab', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const given = canonicalText(text);
        const sent = neutralise(given, 'gitlab');
        expect(quickActionsIn(sent)).toEqual([]);
        expect(sent).not.toMatch(/^[ \t]*\/[a-z]/im);
        expect(mentionsIn(sent)).toEqual([]);
        expect(canonicalText(sent)).toBe(given);
      }),
      { numRuns, seed },
    );
  }, 3_600_000);

  it('would notify users and execute quick actions if it were not changed', () => {
    const samples = fc.sample(texts, { numRuns: 500, seed });
    expect(samples.filter((text) => mentionsIn(text).length > 0).length).toBeGreaterThan(50);
    expect(samples.filter((text) => quickActionsIn(text).length > 0).length).toBeGreaterThan(20);
  });

  it.each([
    ['_@octocat_', '_@\u200boctocat_'],
    ['\\`@octocat\\`', '\\`@\u200boctocat\\`'],
    ['hi ``` @octocat', 'hi ``` @\u200boctocat'],
    ['cc/@octocat', 'cc/@\u200boctocat'],
    ['&#64;octocat', '&#64;\u200boctocat'],
    ['é@octocat', 'é@\u200boctocat'],
    ['<div>\n`@octocat`\n</div>', '<div>\n`@\u200boctocat`\n</div>'],
    ['|a|b|\n|-|-|\n|`@octocat|`|', '|a|b|\n|-|-|\n|`@\u200boctocat|`|'],
    ['[^1]: `\n`@octocat`', '[^1]: `\n`@\u200boctocat`'],
    ['|a|b|\n|-|-|\n<b>\n```\ncc/@octocat', '|a|b|\n|-|-|\n<b>\n```\ncc/@\u200boctocat'],
    ['|a|b|\n|-|-|\n|1|2|\n\n```\n@octocat\n```', '|a|b|\n|-|-|\n|1|2|\n\n```\n@octocat\n```'],
    ['``@octocat` @b``', '``@octocat` @b``'],
    ['> ```js\n> @Override #1\n> ```', '> ```js\n> @Override #1\n> ```'],
    ['- `@a`\n- @b', '- `@a`\n- @\u200bb'],
    ['https://mastodon.social/@user `@a`', 'https://mastodon.social/@user `@a`'],
    ['http://h/```\n@octocat```', 'http://h/```\n@\u200boctocat```'],
    ['www.h.de/_` `@a`', 'www.h.de/_` `@\u200ba`'],
    ['`http://h/` `@a`', '`http://h/` `@a`'],
    ['`curl https://h/` and <http://h/`> `@a`', '`curl https://h/` and <http://h/`> `@a`'],
    ['\ue000@a `@b`\ue000', '\ue000@\u200ba `@b`\ue000'],
    ['see:\n\n    @Override #1', 'see:\n\n    @Override #1'],
    ['- a\n\n      @Override\n\n  @b', '- a\n\n      @Override\n\n  @\u200bb'],
    ['>\t\t@Override\n\na\n    @b', '>\t\t@Override\n\na\n    @\u200bb'],
    ['GH-12, `GH-12`, (gh-3) AGH-12 GH-a', 'GH-\u200b12, `GH-12`, (gh-\u200b3) AGH-12 GH-a'],
    ['GH\\-12 GH&#45;12', 'GH\\-\u200b12 GH&#45;\u200b12'],
  ])('changes text outside code only: %j', (given, sent) => {
    expect(neutralise(given, 'markdown')).toBe(sent);
    expect(canonicalText(sent)).toBe(given);
  });

  it('executes no quick action after a fence within a line or without an end', () => {
    const text = 'see ```\n/close\n/assign @me';
    expect(quickActionsIn(text)).toEqual(['close', 'assign']);
    expect(neutralise(text, 'gitlab')).toBe('see ```\n\u200b/close\n\u200b/assign @\u200bme');
  });

  it.each([
    ['backticks', '`'.repeat(65_000)],
    ['backtick runs', Array.from({ length: 360 }, (_, length) => '`'.repeat(length + 1)).join(' ')],
    ['brackets', '['.repeat(65_000)],
    ['links', '[a]('.repeat(13_000)],
    ['quotes', `${'> '.repeat(1000)}a\n`.repeat(20)],
    ['deep quotes', '>'.repeat(65_000)],
    ['emphasis', '**a'.repeat(21_000)],
    ['comments', 'a <!-- '.repeat(9000)],
    ['entities', '&#00'.repeat(16_000)],
    ['blanks', ' '.repeat(65_000)],
    ['addresses', ' http://h/@a'.repeat(5_000)],
    ['addresses without blanks', `\`${'http://'.repeat(9_000)}`],
    ['addresses with backticks', '`a http://h/`'.repeat(5_000)],
  ])('needs little time for many %s', (_name, text) => {
    const started = process.cpuUsage();
    for (const markup of ['markdown', 'gitlab', 'textile'] as const) {
      canonicalText(neutralise(`${text}@octocat`, markup));
    }
    expect(process.cpuUsage(started).user / 1e6).toBeLessThan(3);
  });
});
