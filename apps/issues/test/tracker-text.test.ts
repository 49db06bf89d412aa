import { describe, expect, it } from '@jest/globals';
import { isRateLimit, retryAfterOf } from '../src/trackers/tracker-response.ts';
import {
  canonicalText,
  canonicalTitle,
  commentMarker,
  cutText,
  fitText,
  isStorableTitle,
  issueMarker,
  markedComment,
  neutralise,
  outboundText,
  storableTitle,
} from '../src/trackers/tracker-text.ts';

const id = '01980c5e-0000-7000-8000-000000000001';

describe('a text sent to a tracker', () => {
  it.each([
    ['ask @octocat', 'ask @\u200boctocat'],
    ['see #12, owner/repo#12', 'see #\u200b12, owner/repo#\u200b12'],
    ['mail ann@example.com', 'mail ann@example.com'],
    ['https://host/page#12a and https://host/@name', 'https://host/page#\u200b12a and https://host/@name'],
    ['`@code` and @name', '`@code` and @\u200bname'],
    ['```\n@code #1\n```\n@name', '```\n@code #1\n```\n@\u200bname'],
    ['~~~\n@code\n~~~', '~~~\n@code\n~~~'],
    ['```\n@never closed', '```\n@never closed'],
    ['# A heading\n#hashtag &#39;', '# A heading\n#hashtag &#39;'],
  ])('mentions no user and references no issue: %j', (given, sent) => {
    expect(neutralise(given, 'markdown')).toBe(sent);
    expect(canonicalText(sent)).toBe(given);
  });

  it('leaves @code@ of Textile unchanged', () => {
    expect(neutralise('@code@ and @name, <pre>@code</pre>', 'textile')).toBe(
      '@code@ and @\u200bname, <pre>@code</pre>',
    );
  });

  it('disables the quick actions of GitLab', () => {
    const text = 'please\n/close\n/assign @ann\n```\n/close\n```\na/b';
    const sent = neutralise(text, 'gitlab');
    expect(sent).toBe('please\n\u200b/close\n\u200b/assign @\u200bann\n```\n\u200b/close\n```\na/b');
    expect(canonicalText(sent)).toBe(text);
  });

  it.each(['markdown', 'gitlab', 'textile'] as const)('is read back unchanged, in %s', (markup) => {
    for (const text of [
      '',
      'one\ntwo',
      '\u{1F469}\u200d\u{1F52C} é <b>',
      '   indented',
      '- [ ] task',
      '@a @b #1 #2',
    ]) {
      const sent = outboundText(text, issueMarker(id), markup);
      expect(sent).toContain(issueMarker(id));
      expect(canonicalText(sent)).toBe(text);
      expect(canonicalText(sent.replaceAll('\n', '\r\n'))).toBe(text);
    }
  });

  it('contains no marker except its own', () => {
    const foreign = issueMarker('01980c5e-0000-7000-8000-00000000dead');
    const sent = outboundText(`Nice ${foreign} try`, issueMarker(id), 'markdown');
    expect(sent).not.toContain(foreign);
  });

  // Parsing again after each cut took seconds: each cut broke the last code span, whose signs made the text too long.
  it('is cut in a few steps, to half of the maximum at worst', () => {
    const runs = Array.from({ length: 40 }, (_, place) => place + 1);
    const code = runs.toReversed().map((run) => `${'`'.repeat(run)}${'@'.repeat(run + 1)}a `);
    const text = `${'@'.repeat(100)}a ${code.join('')}b ${runs.map((run) => '`'.repeat(run)).join(' ')}`;
    const max = text.length + 60;
    const fitted = fitText(text, 'markdown', max);
    expect(outboundText(fitted, commentMarker(id), 'markdown').length).toBeLessThanOrEqual(max);
    expect(fitted.length).toBeLessThan(max / 2);
    expect(fitted).toMatch(/cut: the whole text is in Tessera/);
  });

  it('is processed in linear time', () => {
    const hostile = [
      '`'.repeat(65_000),
      ' '.repeat(65_000),
      '<!-- '.repeat(13_000),
      '@'.repeat(65_000),
      '\r'.repeat(65_000),
      '[^'.repeat(32_500),
      `@a \`${'[^'.repeat(32_500)}`,
      `${'http://a/ '.repeat(3_250)}${'/@'.repeat(16_250)}`,
    ];
    const lengths = hostile.flatMap((text) =>
      (['gitlab', 'markdown', 'textile'] as const).map(
        (markup) => canonicalText(outboundText(`${text}x`, issueMarker(id), markup)).length,
      ),
    );
    expect(lengths).toHaveLength(3 * hostile.length);
  });
});

describe('a text from a tracker', () => {
  it('contains only characters that the database can store', () => {
    expect(canonicalText('a\u0000b\ud800c')).toBe('a\ufffdb\ufffdc');
    expect(canonicalTitle('a\uffffb\ufff9c\u{2fffe}')).toBe('a\ufffdb\ufffdc\ufffd');
    expect(canonicalTitle(' two\r\nlines\u2028and\tmore ')).toBe('two lines and more');
  });

  it('is shown in its own order, as the API demands of other texts', () => {
    expect(canonicalTitle('photo\u202egpj.exe')).toBe('photogpj.exe');
    // A marker that an override broke is none.
    expect(canonicalText('a \u202d(b)\u202c\n\u202e\n')).toBe('a (b)\u202c');
    expect(canonicalText('\u2067\u05d0\u2069 \u202b\u05d0\u202c')).toBe(
      '\u2067\u05d0\u2069 \u202b\u05d0\u202c',
    );
  });

  it('needs a title that shows something', () => {
    expect(storableTitle('\u200b', 'octocat/hello#1')).toBe('octocat/hello#1');
    expect(storableTitle(`${'\u200b'.repeat(255)}x`, 'octocat/hello#1')).toBe('octocat/hello#1');
    expect([isStorableTitle('\u200b'), isStorableTitle('\u200bx')]).toEqual([false, true]);
  });

  it('ends with a note when it is cut', () => {
    expect(cutText('short', 10)).toBe('short');
    const cut = cutText('\u{1F600}'.repeat(500), 100);
    expect([...cut]).toHaveLength(100);
    expect(cut).toMatch(/cut: the whole text is in the external tracker/);
  });

  it('is recognised as a comment of this service only by the marker on its last line', () => {
    expect(markedComment(`text\r\n\r\n${commentMarker(id)}\r\n`)).toBe(id);
    expect(markedComment(`> text\n> ${commentMarker(id)}`)).toBeUndefined();
    expect(markedComment(`${commentMarker(id)}\n\nand my answer`)).toBeUndefined();
    expect(markedComment(issueMarker(id))).toBeUndefined();
  });
});

describe('the rate limit of a tracker', () => {
  const now = Date.parse('2026-11-21T12:00:00Z');
  it.each([
    [{ 'retry-after': '17' }, 17],
    [{ 'retry-after': '0' }, 1],
    [{ 'retry-after': '99999999' }, 3_600],
    [{ 'retry-after': 'Sat, 21 Nov 2026 12:01:30 GMT' }, 90],
    [{ 'retry-after': 'Sat, 21 Nov 2026 11:00:00 GMT' }, 1],
    [{ 'retry-after': 'soon' }, 60],
    [{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(now / 1000 + 42) }, 42],
    [{ 'x-ratelimit-remaining': '3', 'x-ratelimit-reset': String(now / 1000 + 42) }, 60],
    [{ 'ratelimit-remaining': '0', 'ratelimit-reset': String(now / 1000 + 7) }, 7],
    [{}, 60],
  ])('waits after %j for %i seconds', (headers, seconds) => {
    expect(retryAfterOf(headers, now)).toBe(seconds);
  });

  it.each([
    [429, {}, '', true],
    [403, { 'x-ratelimit-remaining': '0' }, '', true],
    [403, { 'retry-after': '3' }, '', true],
    [403, {}, 'You have exceeded a secondary rate limit', true],
    [403, {}, 'Resource not accessible', false],
    [401, { 'x-ratelimit-remaining': '0' }, '', false],
  ])('is reached with %i %j %j: %s', (status, headers, data, isIt) => {
    expect(isRateLimit({ status, headers, data })).toBe(isIt);
  });
});
