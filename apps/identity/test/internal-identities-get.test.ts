import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Identity } from '@tessera/contracts';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import { createIdentity, updateIdentity } from './support/identities.ts';
import { internalClient, unknownId } from './support/internal-client.ts';
import { walk } from './support/pages.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const call = internalClient(() => app);

describe('GET /internal/identities/{id}', () => {
  it('returns the identity for an id in any case', async () => {
    const { identity } = await createIdentity(app);
    expect((await call('get', `/internal/identities/${identity.id}`).expect(200)).body).toEqual(identity);
    expect((await call('get', `/internal/identities/${identity.id.toUpperCase()}`).expect(200)).body).toEqual(
      identity,
    );
  });

  it('returns an inactive identity that is not deleted', async () => {
    const { identity } = await createIdentity(app, { is_active: false });
    await call('get', `/internal/identities/${identity.id}`).expect(200);
  });

  it.each([unknownId, '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'])(
    'returns 404 for %s',
    async (id) => {
      expectProblem(await call('get', `/internal/identities/${id}`), 404, 'identity_not_found');
    },
  );

  it.each([
    'not-a-uuid',
    '42',
    `${unknownId}0`,
    unknownId.replaceAll('-', ''),
    `{${unknownId}}`,
    "';--",
    'null',
  ])('returns 422 for the id %s', async (id) => {
    for (const method of ['get', 'put', 'delete'] as const) {
      expectInvalidFields(await call(method, `/internal/identities/${encodeURIComponent(id)}`), ['id']);
    }
  });

  it('returns 400 for invalid percent-encoding', async () => {
    expectProblem(await call('get', '/internal/identities/%E0%A4%A'), 400, 'malformed_path');
  });
});

describe('GET /internal/identities', () => {
  it('lists the identities that are not deleted by id, page by page, and behind an id', async () => {
    const created: Identity[] = [];
    for (const overrides of [{}, { is_active: false }, {}, { display_name: 'Ann Lee' }])
      created.push((await createIdentity(app, overrides)).identity);
    const [first, , deleted] = created;
    await call('delete', `/internal/identities/${deleted?.id}`).expect(204);
    const remaining = created.filter((identity) => identity !== deleted);
    const path = `/internal/identities?limit=2&after=${first?.id}`;
    const { items, pages } = await walk<Identity>((page) => call('get', page), path);
    expect([items, pages]).toEqual([remaining.slice(1), 1]);
    const all = await walk<Identity>((page) => call('get', page), '/internal/identities?limit=2');
    const ids = all.items.map(({ id }) => id);
    expect(ids).toEqual([...ids].sort());
    expect(all.items).toEqual(expect.arrayContaining(remaining));
    expect(ids).not.toContain(deleted?.id);
    expect(all.pages).toBe(Math.ceil(ids.length / 2));
  });

  it('finds identities by prefixes of words of the username, the display name and the e-mail, page by page', async () => {
    const word = `w${unknownId.slice(0, 4)}${Date.now()}`;
    const people = [
      { email: `${word}@one.example`, username: 'one' },
      { email: 'two@two.example', username: `ann.${word}` },
      { email: 'three@three.example', username: 'three', display_name: `Zoë ${word.toUpperCase()}-Ödegård` },
      { email: `${word}.gone@four.example`, is_active: false },
    ];
    const created: Identity[] = [];
    for (const person of people) created.push((await createIdentity(app, person)).identity);
    const [deleted] = [(await createIdentity(app, { username: `${word}.deleted` })).identity];
    await call('delete', `/internal/identities/${deleted.id}`).expect(204);
    const find = async (search: string) =>
      walk<Identity>(
        (page) => call('get', page),
        `/internal/identities?limit=2&search=${encodeURIComponent(search)}`,
      );
    expect(await find(word)).toEqual({ items: created, pages: 2 });
    expect((await find(`${word} ONE.EX`)).items).toEqual([created[0]]);
    expect((await find(`ann ${word.slice(0, 9)}`)).items).toEqual([created[1]]);
    expect((await find(`ode zoe ${word}`)).items).toEqual([created[2]]);
    // The parser of PostgreSQL takes these names for one word.
    const other = (await createIdentity(app, { display_name: `Conan O’Brien—${word} 山田太郎` })).identity;
    for (const search of [`brien ${word}`, `o'br ${word}`, `${word} 太郎`])
      expect((await find(search)).items).toEqual([other]);
    await updateIdentity(app, other.id, { display_name: `Renée ${word}` });
    expect((await find(`renee ${word}`)).items).toMatchObject([{ id: other.id }]);
    expect((await find(`brien ${word}`)).items).toEqual([]);
    for (const search of [word.slice(1), `${word} five`, '%', "'", ':*', '\\', '!'])
      expect((await find(search)).items).toEqual([]);
    const behind = `/internal/identities?search=${word}&after=${created[1]?.id}`;
    expect((await call('get', behind).expect(200)).body).toMatchObject([
      ...created.slice(2).map(({ id }) => ({ id })),
      { id: other.id },
    ]);
  });

  it('lists up to 100 ids, without deleted and unknown ones, together with the other filters', async () => {
    const created: Identity[] = [];
    for (const username of ['ids one', 'ids two', 'ids three', 'else'])
      created.push((await createIdentity(app, { username })).identity);
    const [one, two, three, other] = created.map(({ id }) => id);
    await call('delete', `/internal/identities/${two}`).expect(204);
    const list = async (query: string) =>
      (await call('get', `/internal/identities?${query}`).expect(200)).body.map(({ id }: Identity) => id);
    const ids = [other, two, one, one?.toUpperCase(), unknownId].join();
    expect(await list(`ids=${ids}`)).toEqual([one, other]);
    expect(await list(`ids=${one}&ids=${other}&after=${one}`)).toEqual([other]);
    expect(await list(`ids=${other},${three}&search=ids&limit=1`)).toEqual([three]);
    expect(await list(`limit=100&ids=${Array(100).fill(one)}`)).toEqual([one]);
    const path = `/internal/identities?limit=1&ids=${ids}`;
    const { items, pages } = await walk<Identity>((page) => call('get', page), path);
    expect([items.map(({ id }) => id), pages]).toEqual([[one, other], 2]);
    expectInvalidFields(await call('get', `/internal/identities?ids=${Array(101).fill(one)}`), ['ids']);
    for (const wrong of ['ids=', 'ids=x'])
      expectInvalidFields(await call('get', `/internal/identities?${wrong}`), ['ids.0']);
  });

  it.each(['limit=0', 'limit=201', 'after=x', 'cursor=x', 'offset=2', 'search=', 'search=a%0Ab'])(
    'returns 422 for %s',
    async (query) => {
      expectInvalidFields(await call('get', `/internal/identities?${query}`), [query.split('=')[0] ?? '']);
    },
  );
});
