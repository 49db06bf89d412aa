import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Comment, commentSchema, type Issue } from '@tessera/contracts';
import { mentionedNames, namesMax, startedMention } from '@tessera/contracts/markdown';
import { createIssue, etagOf, getIssue, historyOf, issuePath, issuesPath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

describe('the names in a text', () => {
  it.each<[string, string[][]]>([
    ['no name', []],
    ['@ann', [['ann']]],
    ['cc @ann, (@bob) "@Éva" *@x_1* >@y', [['ann'], ['bob'], ['Éva'], ['x_1'], ['y']]],
    ['Ask @ann.lee. Or @bob-2!', [['ann.lee.', 'ann.lee'], ['bob-2']]],
    ['@ann and @ann', [['ann']]],
    ['ann@example.com @ann@example.com a.b+c@d', []],
    ['https://example.com/@ann \\@ann @@ann @ ann @-ann', []],
    [`@${'a'.repeat(151)} @${'b'.repeat(150)}`, [['b'.repeat(150)]]],
    ['`@ann` ``@ann ` @ann`` @bob', [['bob']]],
    ['``@ann` @bob', [['ann'], ['bob']]],
    ['\\`@ann` @bob', [['ann'], ['bob']]],
    ['`\\`@ann`', [['ann']]],
    ['`a\n@ann` @bob', [['bob']]],
    ['`a\n\n@ann`', [['ann']]],
    ['```\n@ann\n```\n@bob', [['bob']]],
    ['~~~ js\n@ann\n```\n~~~\n@bob', [['bob']]],
    ['````\n@ann\n```\n@ann', []],
    ['- 1. > ```\n@ann', [['ann']]],
    ['> ```\n> @ann\n> ```\n@bob', [['bob']]],
    ['```a`b\n@ann', [['ann']]],
    ['    @ann', []],
    ['a\n    @ann', [['ann']]],
    ['- a\n\n      @ann\n\n  @bob', [['bob']]],
    ['> \t\t@ann\n> @bob', [['bob']]],
    ['a <!-- @ann --> [@bob](/x "@ann")', [['bob']]],
    ['[a]: /x "@ann"\n\n[^1]: @bob', [['bob']]],
    ['"@ann":@bob（@eve）、@max。«@zoe»', [['ann'], ['bob'], ['eve'], ['max'], ['zoe']]],
    ['請@bob看 و@ann é@max', [['bob看', 'bob'], ['ann'], ['max']]],
    [
      '@bobさん @bob님 @bob-2さん',
      [
        ['bobさん', 'bob'],
        ['bob님', 'bob'],
        ['bob-2さん', 'bob-2'],
      ],
    ],
    ['@bob看@ann', [['bob看', 'bob'], ['ann']]],
    ['@山田さん', [['山田さん', '山田']]],
    ['@王小明你好', [['王小明你好', '王小明你', '王小明', '王小']]],
    ['@김철수님 @иванов', [['김철수님', '김철수', '김철'], ['иванов']]],
    [
      `@bob${'看'.repeat(200)}`,
      [[10, 9, 8, 7, 6, 5, 4, 3, 2].map((length) => `bob${'看'.repeat(length)}`).concat('bob')],
    ],
    ['@e\u0301va', [['éva', 'e\u0301va']]],
    ['@bob\\_smith **@a\\.b** @bob&#95;smith @bob&amp;', [['bob_smith'], ['a.b'], ['bob']]],
    [
      '_@bob_ __@王五__ (_@a_b_)',
      [
        ['bob_', 'bob'],
        ['王五__', '王五'],
        ['a_b_', 'a_b'],
      ],
    ],
    ['cc/@ann/@bob, @bo/@eve -@max +@zoe', [['ann'], ['bob'], ['bo'], ['eve'], ['max'], ['zoe']]],
    ['a/b/@ann x.y/@bob @types/node ann_@x a-@b', []],
    ['see https://h.example/?u=@ann www.h.example/#@bob <https://h/@c>', []],
    ['[t](https://h/@ann)@bob https://h.example、@eve [http://h](/x)@max', [['bob'], ['eve'], ['max']]],
    ['<a href="@ann">@bob</a>\n\n<div title="@max">\n@eve', [['bob'], ['eve']]],
    ['a\n\n<!-- b\n\n`@ann`\n\n    @bob\n\n@max', []],
    ['> <!-- @ann\n\n@bob', [['bob']]],
  ])('%j are %j', (text, names) => {
    expect(mentionedNames(text)).toEqual(names);
  });

  it.each([
    ['Ask @an|', 'an'],
    ['@|', ''],
    ['"@|', ''],
    ['請@b|看', 'b'],
    ['(@|)', ''],
    ['@an|n', 'an'],
    ['`@an|', 'an'],
    ['`@an|`', undefined],
    ['`@|`', undefined],
    ['    @an|', undefined],
    ['```\n@an|', undefined],
    ['ann@ex|', undefined],
    ['@ann@ex|', undefined],
    ['@an|@example.com', undefined],
    ['\\@an|', undefined],
    ['@bob/@an|', 'an'],
    ['_@an|_', 'an'],
    ['https://h/@an|', undefined],
    ['@ann |', undefined],
    ['|@ann', undefined],
    ['@.|', undefined],
  ])('are completed where they would count: %j is %j', (given, word) => {
    expect(startedMention(given.replace('|', ''), given.indexOf('|'))).toBe(word);
  });

  it('are limited', () => {
    const text = Array.from({ length: 200 }, (_, index) => `@n${index}`).join(' ');
    expect(mentionedNames(text)).toHaveLength(namesMax);
  });

  it.each([
    '@',
    '@a',
    '@a ',
    '_@',
    '@a/',
    '@a\\_',
    'https://@a ',
    '<!-- \n\n@a ',
    '`',
    '` ',
    '`@',
    '``` ',
    '\n',
    '\\`',
    '- ',
    '1. ',
    '> ',
    '~~~\n',
    '>\n',
    ' -',
    '`a``',
    ...[
      '[',
      '![',
      '[a](',
      '[a](<',
      '[a](b "',
      '[a]: b\n![',
      '[a]: b "',
      '[`][a]',
      '](',
      '<a b="',
      "<a b='",
      '<a ',
    ],
    ...[
      '<!--',
      '--><!--',
      '<?',
      '<a b="\' c=\'" d="',
      'a|b\n-|-\n',
      '|`',
      '> `\n',
      '    a\n',
      '\ta\n\n',
      '<b>\n',
    ],
  ])(
    'are found in a million characters of %j, because the time is linear',
    (part) => {
      // In quadratic time, the test would exceed its time limit.
      const text = part.repeat(1_000_000 / part.length);
      mentionedNames(`@a\n\n${'- '.repeat(99)}${text}${'\n'.repeat(9_000)}[a]`);
      expect(mentionedNames(`@${text}\`@a`).length).toBeLessThanOrEqual(namesMax);
    },
    300_000,
  );
});

describe('mentions', () => {
  let app: TestApp;
  let ann: TestPerson;
  let bob: TestPerson;
  let eve: TestPerson;
  beforeAll(async () => {
    app = await startTestApp();
    [ann, bob, eve] = [await aPerson(app), await aPerson(app), await aPerson(app)];
    for (const person of [ann, bob, eve]) await person.get('/api/v1/users/me/').expect(200);
  });
  afterAll(() => app.close());

  const shown = ({ id, username }: TestPerson) => ({ id, username });
  const isWatching = async (person: TestPerson, issue: Issue) =>
    (await person.get(issuePath(issue, 'watch/')).expect(200)).body.is_watching;
  const comment = async (issue: Issue, body: string): Promise<Comment> =>
    commentSchema.parse((await ann.post(issuePath(issue, 'comments/'), { body }).expect(201)).body);

  it('in a description are shown in order, follow its changes, and make people watch', async () => {
    const description = `cc @${eve.username.toUpperCase()}, @unknown-${randomUUID()} and @${bob.username}.`;
    const issue = await createIssue(ann, { description, title: `For @${ann.username}` });
    expect(issue.mentions).toEqual([shown(eve), shown(bob)]);
    expect(await getIssue(bob, issue)).toEqual(issue);
    expect([await isWatching(eve, issue), await isWatching(bob, issue)]).toEqual([true, true]);
    await eve.delete(issuePath(issue, 'watch/')).expect(204);
    await ann.patch(issuePath(issue), { title: 'Unchanged text' }).expect(200);
    expect((await getIssue(bob, issue)).mentions).toEqual([shown(eve), shown(bob)]);
    const changed = await ann.patch(issuePath(issue), {
      description: `@${eve.username} \`@${bob.username}\``,
    });
    expect(changed.body.mentions).toEqual([shown(eve)]);
    expect([await isWatching(eve, issue), await isWatching(bob, issue)]).toEqual([false, true]);
    const { body: other } = await ann.patch(issuePath(issue), { description: '' }).expect(200);
    expect(other.mentions).toEqual([]);
    expect((await historyOf(ann, issue)).map(({ field }: { field: string }) => field)).toEqual([
      null,
      'title',
      'description',
      'description',
    ]);
  });

  it('in comments are shown, follow their changes, and make people watch', async () => {
    const issue = await createIssue(ann);
    const added = await comment(issue, `@${bob.username}?`);
    expect(added.mentions).toEqual([shown(bob)]);
    expect([await isWatching(bob, issue), await isWatching(eve, issue)]).toEqual([true, false]);
    const path = issuePath(issue, `comments/${added.id}/`);
    const { body: changed } = await ann.patch(path, { body: `@${eve.username}!` }).expect(200);
    expect(changed.mentions).toEqual([shown(eve)]);
    expect(await isWatching(eve, issue)).toBe(true);
    const status = { status: 'CLOSED', comment: `Thanks, @${bob.username} and @${eve.username}` };
    const { body: closed } = await ann.post(issuePath(issue, 'status/'), status).expect(200);
    expect(closed.comments).toEqual([
      changed,
      expect.objectContaining({ mentions: [shown(bob), shown(eve)] }),
    ]);
    expect((await ann.get(issuePath(issue, 'comments/')).expect(200)).body).toEqual(closed.comments);
  });

  it('give no rights, and are resolved once for an Idempotency-Key', async () => {
    const key = randomUUID();
    const create = () =>
      ann
        .post(issuesPath, { title: 'x', description: `@${bob.username}` })
        .set('Idempotency-Key', key)
        .expect(201);
    const [{ body: issue }, { body: again }] = [await create(), await create()];
    expect([again, issue.mentions]).toEqual([issue, [shown(bob)]]);
    expect((await bob.patch(issuePath(issue), { title: 'y' })).status).toBe(403);
    expect((await bob.post(issuePath(issue, 'status/'), { status: 'CLOSED' })).status).toBe(403);
    const rows = await app.sql('SELECT user_id FROM issue_watchers WHERE issue_id = $1', [issue.id]);
    expect(rows).toEqual([{ user_id: bob.id }]);
  });

  it('show the current name, and change the ETag with it', async () => {
    const person = await aPerson(app);
    await person.get('/api/v1/users/me/').expect(200);
    const issue = await createIssue(ann, { description: `@${person.username}` });
    await comment(issue, `@${person.username}`);
    const etag = await etagOf(ann, issue);
    const username = `renamed-${randomUUID()}`;
    await app.sql('UPDATE identity_mirror SET username = $2 WHERE id = $1', [person.id, username]);
    const after = await getIssue(ann, issue);
    expect(after.mentions).toEqual([{ id: person.id, username }]);
    expect(after.comments[0]?.mentions).toEqual([{ id: person.id, username }]);
    expect(await etagOf(ann, issue)).not.toBe(etag);
    await app.sql('DELETE FROM identity_mirror WHERE id = $1', [person.id]);
    expect((await getIssue(ann, issue)).mentions).toEqual([{ id: person.id, username: null }]);
  });

  it('find neither ambiguous and inactive names nor e-mail addresses', async () => {
    const username = `twice-${randomUUID()}`;
    const gone = `gone-${randomUUID()}`;
    for (const [name, isActive] of [
      [username, true],
      [username.toUpperCase(), true],
      [gone, false],
    ])
      await app.sql(
        `INSERT INTO identity_mirror (id, username, email, is_active, as_of, source)
         VALUES (gen_random_uuid(), $1, $2, $3, now(), 'lookup')`,
        [name, `${name}@example.com`, isActive],
      );
    const description = `@${username} @${gone} @${gone}@example.com @${bob.email}`;
    const issue = await createIssue(ann, { description });
    expect(issue).toMatchObject({ description, mentions: [] });
  });

  it('are the longest known names, in any normal form', async () => {
    const id = randomUUID();
    const names = { short: `kim-${id}`, long: `kim-${id}さん`, eva: `Éva-${id}` };
    await app.sql(
      `INSERT INTO identity_mirror (id, username, email, as_of, source)
       SELECT gen_random_uuid(), name, gen_random_uuid() || '@example.com', now(), 'lookup' FROM unnest($1::text[]) name`,
      [Object.values(names)],
    );
    const mentionsOf = async (description: string) =>
      (await createIssue(ann, { description })).mentions.map(({ username }) => username);
    expect(await mentionsOf(`@${names.long}は`)).toEqual([names.long]);
    expect(await mentionsOf(`請@${names.short}님`)).toEqual([names.short]);
    expect(await mentionsOf(`@${names.eva.normalize('NFD')}, and\n\n    @${names.short}`)).toEqual([
      names.eva,
    ]);
  });

  it('are at most 20 for each text', async () => {
    const names = Array.from({ length: 60 }, (_, index) => `crowd-${index}`);
    await app.sql(
      `INSERT INTO identity_mirror (id, username, email, as_of, source)
       SELECT gen_random_uuid(), name, name || '@example.com', now(), 'lookup' FROM unnest($1::text[]) name`,
      [names],
    );
    const issue = await createIssue(ann, { description: names.map((name) => `@${name}`).join(' ') });
    expect(issue.mentions.map(({ username }) => username)).toEqual(names.slice(0, 20));
    const rows = await app.sql('SELECT 1 FROM issue_watchers WHERE issue_id = $1', [issue.id]);
    expect(rows).toHaveLength(20);
  });
});
