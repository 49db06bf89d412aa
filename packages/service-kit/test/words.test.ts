import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { prefixQuery, wordQuery } from '../src/search/word-query.ts';
import { wordVector } from '../src/search/word-vector.ts';
import { searchCases } from './support/search-texts.ts';
import { createDatabase, dropDatabases } from './support/test-database.ts';

// The parser of PostgreSQL gives each of these databases other words.
const locales = {
  C: "LC_COLLATE 'C' LC_CTYPE 'C'",
  'C.UTF-8': "LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8'",
  ICU: "LOCALE_PROVIDER icu ICU_LOCALE 'und' LC_COLLATE 'C' LC_CTYPE 'C'",
};

const clients: pg.Client[] = [];
beforeAll(async () => {
  for (const options of Object.values(locales)) {
    const client = new pg.Client({
      connectionString: await createDatabase(`TEMPLATE template0 ENCODING 'UTF8' ${options}`),
    });
    await client.connect();
    clients.push(client);
  }
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client.end()));
  await dropDatabases();
});

/** Which of the pairs match. The databases must agree. */
async function matches(pairs: readonly (readonly [vector: string, query: string])[]): Promise<boolean[]> {
  const [first = [], ...others] = await Promise.all(
    clients.map(async (client) => {
      const { rows } = await client.query<{ found: boolean }>(
        'SELECT v::tsvector @@ q::tsquery AS found FROM unnest($1::text[], $2::text[]) WITH ORDINALITY p (v, q, n) ORDER BY n',
        [pairs.map(([vector]) => vector), pairs.map(([, query]) => query)],
      );
      return rows.map(({ found }) => found);
    }),
  );
  for (const other of others) expect(other).toEqual(first);
  return first;
}

const indexed = (text: string) => wordVector({ text });

describe('the words of a text', () => {
  it.each(Object.entries(searchCases))('are found in %s', async (_, cases) => {
    const pairs = cases.flatMap(([text, found, missed = []]) => [
      ...found.map((search) => ({ text, search, isFound: true })),
      ...missed.map((search) => ({ text, search, isFound: false })),
    ]);
    const found = await matches(
      pairs.map(({ text, search }) => [indexed(text), wordQuery(search).query] as const),
    );
    expect(pairs.map(({ text, search }, place) => ({ text, search, isFound: found[place] }))).toEqual(pairs);
  });

  it('are tested with at least 150 searches in 20 languages', () => {
    const pairs = Object.values(searchCases)
      .flat()
      .flatMap(([, found, missed = []]) => [...found, ...missed]);
    expect(pairs.length).toBeGreaterThanOrEqual(150);
    expect(Object.keys(searchCases).length).toBeGreaterThanOrEqual(20);
  });

  it('are found by their beginnings in names', async () => {
    const names = wordVector({
      text: 'conan.obrien Conan O’Brien 山田太郎 Łukasz bob.smith@example.com zoë@bücher.example',
    });
    const found = [
      'brien',
      "o'br",
      'OBR',
      'con',
      '山田',
      '太',
      'luk',
      'smith ex',
      'Smith, B',
      'bob.smith@ex',
      'zoe@XN--bcher-kva.ex',
    ];
    const missed = ['xn--fa-hia', 'rien', '田山', 'ukasz', 'smyth', '@', ''];
    expect(await matches([...found, ...missed].map((typed) => [names, prefixQuery(typed)] as const))).toEqual(
      [...found.map(() => true), ...missed.map(() => false)],
    );
  });

  it('of two texts are no phrase', async () => {
    const both = wordVector({ text: 'one two' }, { text: 'three 四' });
    expect(
      await matches([
        [both, wordQuery('"two three"').query],
        [both, wordQuery('two three').query],
      ]),
    ).toEqual([false, true]);
  });

  it('of one text keep their weight', async () => {
    const [client] = clients;
    const vector = wordVector({ text: 'title', weight: 'A' }, { text: 'text', weight: 'B' });
    const rows = (await client?.query("SELECT ts_filter($1::tsvector, '{b}')::text AS words", [vector]))
      ?.rows;
    expect(rows).toEqual([{ words: expect.stringMatching(/^'text':\d+B$/) }]);
  });

  it('end at the limit of characters, which may be two units', () => {
    expect(wordVector({ text: `${'💡'.repeat(3)} ab cd`, limit: 6 })).toMatch(/^'ab':\d+$/);
  });
});

describe('any text', () => {
  // Repetitions of these made the parser of PostgreSQL take quadratic time, or are the largest of their kind here.
  const units = [
    'a_',
    '1e@',
    '/a',
    'a.b',
    "a'",
    'é’',
    '页',
    'ก้',
    'か\u3099',
    '\u0301',
    '\ud800',
    '"a',
    '-a',
    'or ',
    '🔥',
    'ﷺ',
    'İ',
    '<a ',
    ' \u00a0',
    '٤',
    '&#',
    "\\'",
  ];

  it('has a vector and a query that PostgreSQL reads', async () => {
    const texts = [...units, ...units.flatMap((unit) => units.map((other) => unit + other + unit))];
    const pairs = texts.map((text) => [indexed(text.repeat(40)), wordQuery(text.repeat(10)).query] as const);
    await expect(matches(pairs)).resolves.toHaveLength(pairs.length);
    await expect(
      matches(texts.map((text) => ['', prefixQuery(text.repeat(10))] as const)),
    ).resolves.toHaveLength(texts.length);
  });

  it('has at most one word for two characters of its limit, of at most 1 KB, in less than 1 MB', async () => {
    const limit = 20_000;
    for (const unit of units) {
      const text = unit.repeat(limit);
      const vector = wordVector({ text, limit });
      const { rows } = (await clients[0]?.query<{ words: number; longest: number }>(
        `SELECT count(*)::int AS words, coalesce(max(octet_length(lexeme)), 0)::int AS longest FROM unnest($1::tsvector)`,
        [vector],
      )) ?? { rows: [] };
      expect(rows[0]?.words).toBeLessThanOrEqual(limit / 2);
      expect(rows[0]?.longest).toBeLessThanOrEqual(1_024);
    }
    const distinct = Array.from({ length: limit }, (_, place) => String.fromCodePoint(0x4e00 + place)).join(
      '',
    );
    expect(wordVector({ text: distinct, limit }).match(/'[^']+':/g)).toHaveLength(limit / 2);
  });

  it('is read in linear time', () => {
    const costOf = (text: string) => {
      const times = Array.from({ length: 2 }, () => {
        const before = process.cpuUsage();
        wordVector({ text });
        return process.cpuUsage(before).user;
      });
      return Math.min(...times);
    };
    // Twenty times the length. Quadratic time would be four hundred times as much.
    const slow = units.filter((unit) => {
      const length = Math.ceil(5_000 / unit.length);
      return costOf(unit.repeat(20 * length)) > 200 * Math.max(costOf(unit.repeat(length)), 1_000);
    });
    expect(slow).toEqual([]);
  });
});
