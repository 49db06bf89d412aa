import { randomInt, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type ProjectRole,
  type ProjectVisibility,
  projectRoles,
  projectVisibilities,
} from '@tessera/contracts';
import { eventually } from '@tessera/stack/eventually';
import fc from 'fast-check';
import type { Test } from 'supertest';
import { sightOf } from '../src/issue-core/project-access.ts';
import { type IssuesService, startIssuesService } from './support/issues-service.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

// The database enforces uniqueness: two processes of the service share it.
describe('two processes on one database', () => {
  let store: TestApp;
  let services: [IssuesService, IssuesService];
  let ann: TestPerson;
  beforeAll(async () => {
    store = await startTestApp();
    ann = await aPerson(store);
    services = await Promise.all([startIssuesService(store), startIssuesService(store)]);
  });
  afterAll(async () => {
    expect(await Promise.all(services.map((service) => service.stop()))).toEqual([0, 0]);
    await store.close();
  });

  const post = (service: IssuesService, path: string): Test => ann.on(service).post(`/api/v1/issues/${path}`);
  const inParallel = <Result>(
    count: number,
    send: (service: IssuesService, index: number) => PromiseLike<Result>,
  ) =>
    Promise.all(Array.from({ length: count }, (_, index) => send(services[index % 2 === 0 ? 0 : 1], index)));

  const historyOf = (id: string) =>
    store.sql(`SELECT 1 FROM activity WHERE issue_id = $1 AND kind = 'status_changed'`, [id]);

  it('creates one issue for 20 requests with the same Idempotency-Key and sends all of them the same response', async () => {
    const key = randomUUID();
    // As a client does: on a slow machine, a connection can be late, and the request is sent again.
    const send = async (service: IssuesService): Promise<Awaited<Test>> => {
      const answer = await post(service, '').set('Idempotency-Key', key).send({ title: 'Only once' });
      return answer.status === 503 ? send(service) : answer;
    };
    const answers = await inParallel(20, send);
    expect(answers.map((answer) => answer.status)).toEqual(Array<number>(20).fill(201));
    expect(new Set(answers.map((answer) => answer.text)).size).toBe(1);
    expect(new Set(answers.map((answer) => answer.headers.location)).size).toBe(1);
    expect(answers.filter((answer) => answer.headers['idempotency-replayed'] === 'true')).toHaveLength(19);
    expect(await store.sql(`SELECT 1 FROM issues WHERE title = 'Only once'`)).toHaveLength(1);
  });

  it('applies one of two status changes with the same If-Match and writes one history entry', async () => {
    for (let round = 0; round < 20; round += 1) {
      const created = await post(services[0], '')
        .send({ title: `Round ${round}` })
        .expect(201);
      const answers = await inParallel(2, (service, index) =>
        post(service, `${created.body.id}/status`)
          .set('If-Match', created.headers.etag ?? '')
          .send({ status: index === 0 ? 'CLOSED' : 'IN_PROGRESS' }),
      );
      expect(answers.map((answer) => answer.status).sort()).toEqual([200, 412]);
      expect(await historyOf(created.body.id)).toHaveLength(1);
    }
  });

  it('applies each status change to the current status: a history entry for each one applied, 409 for the others', async () => {
    for (let round = 0; round < 20; round += 1) {
      const { body: issue } = await post(services[0], '')
        .send({ title: `Round ${round}` })
        .expect(201);
      const answers = await inParallel(2, (service, index) =>
        post(service, `${issue.id}/status`).send({ status: index === 0 ? 'CLOSED' : 'IN_PROGRESS' }),
      );
      const statuses = answers.map((answer) => answer.status);
      // CLOSED cannot become IN_PROGRESS, but IN_PROGRESS can become CLOSED.
      expect([
        [200, 200],
        [200, 409],
      ]).toContainEqual(statuses);
      expect(await historyOf(issue.id)).toHaveLength(statuses.filter((status) => status === 200).length);
    }
  });

  it('creates a label once, and no more labels than there may be', async () => {
    const staff = await aPerson(store, { is_staff: true });
    const create = (service: IssuesService, name: string) =>
      staff.on(service).post('/api/v1/labels/', { name });
    const same = await inParallel(10, (service, index) => create(service, index < 5 ? 'Bug' : 'BUG'));
    expect(same.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(9).fill(409)]);
    await store.sql(
      `INSERT INTO labels (id, name, key, color)
       SELECT gen_random_uuid(), 'l' || n, 'l' || n, '#000000' FROM generate_series(1, 497) n`,
    );
    const many = await inParallel(10, (service, index) => create(service, `new ${index}`));
    expect(many.map(({ status, body }) => body.code ?? status).sort()).toEqual([
      ...[201, 201],
      ...Array<string>(8).fill('too_many_labels'),
    ]);
    const [renamed] = many.filter(({ status }) => status === 201);
    const renamings = await inParallel(4, (service) =>
      staff.on(service).patch(`/api/v1/labels/${renamed?.body.id}/`, { name: 'l1' }),
    );
    expect(renamings.map(({ status }) => status)).toEqual([409, 409, 409, 409]);
    expect(await store.sql('SELECT 1 FROM labels')).toHaveLength(500);
  });

  it('applies one of two changes of a comment with the same If-Match, and one deletion of it', async () => {
    const { body: issue } = await post(services[0], '').send({ title: 'Commented' }).expect(201);
    for (let round = 0; round < 10; round += 1) {
      const { body: comment, headers } = await post(services[0], `${issue.id}/comments/`)
        .send({ body: 'Before' })
        .expect(201);
      const path = `/api/v1/issues/${issue.id}/comments/${comment.id}/`;
      const changes = await inParallel(2, (service, index) =>
        ann
          .on(service)
          .patch(path, { body: `After ${index}` })
          .set('If-Match', headers.etag ?? ''),
      );
      expect(changes.map(({ status }) => status).sort()).toEqual([200, 412]);
      const deletions = await inParallel(4, (service) => ann.on(service).delete(path));
      expect(deletions.map(({ status }) => status)).toEqual([204, 204, 204, 204]);
    }
    const kinds = await store.sql(
      'SELECT kind, count(*)::int FROM activity WHERE issue_id = $1 GROUP BY kind ORDER BY kind',
      [issue.id],
    );
    expect(kinds).toEqual([
      { kind: 'comment_added', count: 10 },
      { kind: 'comment_changed', count: 10 },
      { kind: 'comment_removed', count: 10 },
      { kind: 'created', count: 1 },
    ]);
    expect(await store.sql('SELECT comments_count FROM issues WHERE id = $1', [issue.id])).toEqual([
      { comments_count: 0 },
    ]);
  });

  it('keeps the mentions of the description that was written last', async () => {
    const people = await Promise.all(Array.from({ length: 4 }, () => aPerson(store)));
    for (const person of people) await person.get('/api/v1/users/me/').expect(200);
    const { body: issue } = await post(services[0], '').send({ title: 'Mentions' }).expect(201);
    const path = `/api/v1/issues/${issue.id}/`;
    const answers = await inParallel(20, (service, index) =>
      ann.on(service).patch(path, { description: `@${people[index % 4]?.username} ${index}` }),
    );
    const { body: last } = await ann.on(services[0]).get(path).expect(200);
    for (const { status, body } of [...answers, { status: 200, body: last }]) {
      expect(status).toBe(200);
      expect(body.mentions.map(({ username }: { username: string }) => `@${username}`)).toEqual([
        body.description.split(' ')[0],
      ]);
    }
    const watchers = await store.sql(
      'SELECT user_id FROM issue_watchers WHERE issue_id = $1 AND is_watching ORDER BY user_id',
      [issue.id],
    );
    expect(watchers.map(({ user_id }) => user_id)).toEqual(people.map(({ id }) => id).sort());
  });

  it('sets the labels of an issue by one of two updates with the same If-Match', async () => {
    const staff = await aPerson(store, { is_staff: true });
    const names = ['Left', 'Right'];
    await store.sql('DELETE FROM labels');
    for (const name of names) await staff.on(services[0]).post('/api/v1/labels/', { name }).expect(201);
    for (let round = 0; round < 5; round += 1) {
      const { body: issue, headers } = await post(services[0], '').send({ title: 'Labelled' }).expect(201);
      const answers = await inParallel(2, (service, index) =>
        ann
          .on(service)
          .patch(`/api/v1/issues/${issue.id}/`, { labels: [names[index]] })
          .set('If-Match', headers.etag ?? ''),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
      const added = await store.sql(
        `SELECT new_value->>'name' AS name FROM activity WHERE issue_id = $1 AND kind = 'label_added'`,
        [issue.id],
      );
      const winner = answers.find(({ status }) => status === 200)?.body;
      expect(added.map(({ name }) => name)).toEqual(winner.labels.map(({ name }: { name: string }) => name));
    }
  });

  it('gives a key to one project, and creates no more projects than there may be', async () => {
    const staff = await aPerson(store, { is_staff: true });
    const create = (service: IssuesService, key: string) =>
      staff.on(service).post('/api/v1/projects/', { key, name: 'x' });
    for (let round = 0; round < 5; round += 1) {
      const answers = await inParallel(10, (service) => create(service, `SAME${round}`));
      expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(9).fill(409)]);
    }
    for (const key of ['LEFT', 'RIGHT']) await create(services[0], key).expect(201);
    const renamed = await inParallel(10, (service, index) =>
      staff.on(service).patch(`/api/v1/projects/${index % 2 === 0 ? 'LEFT' : 'RIGHT'}/`, { key: 'BOTH' }),
    );
    expect(new Set(renamed.map(({ status, body }) => (status === 200 ? body.id : body.code))).size).toBe(2);
    expect(await store.sql(`SELECT 1 FROM projects WHERE key = 'BOTH'`)).toHaveLength(1);
    await store.sql(
      `INSERT INTO projects (id, key, name) SELECT gen_random_uuid(), 'FILL' || n, 'x'
         FROM generate_series(1, 495 - (SELECT count(*)::int FROM projects)) n`,
    );
    const answers = await inParallel(20, (service, index) => create(service, `LAST${index}`));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(5);
    expect(await store.sql('SELECT 1 FROM projects')).toHaveLength(500);
  });

  it('moves issues while their projects are renamed and archived, and every key leads to its issue', async () => {
    const staff = await aPerson(store, { is_staff: true });
    await store.sql(`DELETE FROM projects WHERE key LIKE 'FILL%'`);
    for (const key of ['FROM', 'TO'])
      await staff
        .on(services[0])
        .post('/api/v1/projects/', { key, name: 'x', visibility: 'everyone' })
        .expect(201);
    const draft = { title: 'Moved', project: 'FROM' };
    const created = await inParallel(10, (service) => post(service, '').send(draft));
    const answers = await inParallel(30, (service, index) => {
      const path = `${created[index % 10]?.body.id}/move/`;
      if (index % 3 === 0) return post(service, path).send({ project: 'TO' });
      if (index % 3 === 1) return staff.on(service).patch('/api/v1/projects/TO/', { key: `TO${index % 5}` });
      return staff.on(service).patch('/api/v1/projects/TO/', { is_archived: index % 2 === 0 });
    });
    for (const { status, body } of answers)
      expect([200, 'project_archived']).toContain(status === 200 ? status : body.code);
    const { body: target } = await ann.on(services[1]).get('/api/v1/projects/TO/').expect(200);
    for (const { body: issue } of created) {
      const { body: now } = await ann.on(services[1]).get(`/api/v1/issues/FROM-${issue.number}/`).expect(200);
      expect(now.id).toBe(issue.id);
      expect(now.key).toBe(`${now.project.id === target.id ? target.key : 'FROM'}-${issue.number}`);
      const moves = await store.sql(`SELECT 1 FROM activity WHERE issue_id = $1 AND field = 'project'`, [
        issue.id,
      ]);
      expect(moves).toHaveLength(now.project.id === target.id ? 1 : 0);
    }
  });

  it('keeps a last manager, a limit of memberships, and shows nothing to a member who was removed', async () => {
    const staff = await aPerson(store, { is_staff: true });
    const project = '/api/v1/projects/OURS/';
    await staff.on(services[0]).post('/api/v1/projects/', { key: 'OURS', name: 'Ours' }).expect(201);
    const member = (person: { id: string }) => `${project}members/${person.id}/`;
    await staff.on(services[0]).put(member(ann), { role: 'manager' }).expect(201);
    const managers = [staff, ann];
    const left = await inParallel(10, (service, index) => {
      const person = managers[index % 4 < 2 ? 0 : 1] ?? ann;
      const self = person.on(service);
      return index % 3 === 0 ? self.put(member(person), { role: 'viewer' }) : self.delete(member(person));
    });
    expect(left.map(({ body }) => body.code)).toContain('last_manager');
    const kept = await store.sql<{ user_id: string }>(
      `SELECT user_id FROM project_members m JOIN projects p ON p.id = m.project_id WHERE p.key = 'OURS' AND role = 'manager'`,
    );
    expect(kept).toHaveLength(1);

    const bob = await aPerson(store);
    await store.sql(
      `WITH made AS (
         INSERT INTO projects (id, key, name, visibility)
         SELECT gen_random_uuid(), 'MINE' || n, 'x', 'members' FROM generate_series(1, 201) n RETURNING id, key
       ), kept AS (INSERT INTO project_keys (key, project_id) SELECT key, id FROM made)
       INSERT INTO project_members (project_id, user_id, role)
         SELECT id, $1, 'viewer' FROM made WHERE key NOT IN ('MINE1', 'MINE2', 'MINE3', 'MINE4')`,
      [bob.id],
    );
    const added = await inParallel(4, (service, index) =>
      staff.on(service).put(`/api/v1/projects/MINE${index + 1}/members/${bob.id}/`, { role: 'member' }),
    );
    expect(added.map(({ status }) => status).sort()).toEqual([201, 201, 201, 422]);
    const [first] = added.flatMap(({ status }, index) => (status === 201 ? [index + 1] : []));
    const created = await staff
      .on(services[0])
      .post('/api/v1/issues/', { title: 'Ours', project: `MINE${first}` })
      .expect(201);
    const statusesOf = () =>
      Promise.all(
        services.map(async (one) => (await bob.on(one).get(`/api/v1/issues/${created.body.id}/`)).status),
      );
    await eventually(statusesOf, (statuses) => statuses.every((status) => status === 200));
    await staff.on(services[0]).delete(`/api/v1/projects/MINE${first}/members/${bob.id}/`).expect(204);
    await eventually(statusesOf, (statuses) => statuses.every((status) => status === 404));
  });

  it('shows each reader what the rules say, after random changes of members, projects and issues and crashes', async () => {
    const steps = Number(process.env.ACCESS_MODEL_STEPS ?? 40);
    const seed = Number(process.env.ACCESS_MODEL_SEED ?? randomInt(2 ** 31));
    // Each change draws at most six numbers; the reads draw none, because their number depends on the time.
    const random = fc.sample(fc.nat(999), { seed, numRuns: steps * 6 + 60 });
    const draw = (count: number) => {
      const number = random.pop();
      if (number === undefined) throw new Error('there are too few random numbers');
      return number % count;
    };
    const pick = <Item>(items: readonly Item[]): Item => items[draw(items.length)] as Item;

    const chief = await aPerson(store, { is_staff: true, is_superuser: true });
    const readers = [await aPerson(store), await aPerson(store), await aPerson(store, { is_staff: true })];
    const keys = ['MODELA', 'MODELB', 'MODELC'];
    for (const key of keys)
      await chief
        .on(services[0])
        .post('/api/v1/projects/', { key, name: 'x', visibility: 'everyone' })
        .expect(201);
    const issues: string[] = [];
    for (const reporter of [...readers, ...readers]) {
      const draft = { title: 'Modelled', project: pick(keys) };
      issues.push((await reporter.on(services[0]).post('/api/v1/issues/', draft).expect(201)).body.id);
    }
    const change = async () => {
      const by = chief.on(pick(services));
      const project = `/api/v1/projects/${pick(keys)}/`;
      const member = `${project}members/${pick(readers).id}/`;
      const issue = `/api/v1/issues/${pick(issues)}/`;
      const changes = [
        () => by.patch(project, { visibility: pick(projectVisibilities) }),
        () => by.put(member, { role: pick(projectRoles) }),
        () => by.delete(member),
        () => by.post(`${issue}move/`, { project: pick([...keys, 'ISS']) }),
        () => by.post(`${issue}comments/`, { body: 'x' }),
        () => by.patch(issue, { assignee_id: pick([...readers.map(({ id }) => id), null]) }),
      ];
      // Without an answer, the change was made or not: the database says what holds.
      await pick(changes)().catch(() => undefined);
    };
    // Which issues the rules show to each reader, from the rows of the database.
    const expected = async () => {
      const rows = await store.sql<{
        id: string;
        visibility: ProjectVisibility;
        people: string[];
        roles: Record<string, ProjectRole> | null;
      }>(
        `SELECT i.id, p.visibility, ARRAY[i.reporter_id, i.assignee_id] AS people,
                (SELECT jsonb_object_agg(m.user_id, m.role) FROM project_members m WHERE m.project_id = p.id) AS roles
           FROM issues i JOIN projects p ON p.id = i.project_id WHERE i.id = ANY($1)`,
        [issues],
      );
      return readers.map(({ id, is_staff }) =>
        rows
          .filter(({ visibility, roles, people }) => {
            if (visibility === 'everyone') return true;
            const sight = sightOf({ visibility, role: roles?.[id] }, is_staff);
            return sight === 'all' || (sight === 'own' && people.includes(id));
          })
          .map((row) => row.id)
          .sort(),
      );
    };
    const shown = () =>
      Promise.all(
        readers.map(async (reader, place) => {
          const client = reader.on(services[place % 2 === 0 ? 0 : 1]);
          const { body: listed } = await client.get(`/api/v1/issues/?id=${issues.join()}&fields=id`);
          const { body: found } = await client.get('/api/v1/issues/?search=modelled&fields=id&limit=50');
          const read = await Promise.all(issues.map((id) => client.get(`/api/v1/issues/${id}/`)));
          return [
            listed.map(({ id }: { id: string }) => id).sort(),
            found.map(({ id }: { id: string }) => id).sort(),
            issues.filter((_, place) => read[place]?.status === 200).sort(),
          ];
        }),
      );
    for (let step = 0; step < steps; step += 10) {
      const changes = Array.from({ length: 10 }, change);
      const isKilled = step % 40 === 10;
      if (isKilled) services[1].kill();
      await Promise.all(changes);
      if (isKilled) services[1] = await startIssuesService(store);
      const wanted = (await expected()).map((ids) => [ids, ids, ids]);
      const holds = (now: unknown) => isDeepStrictEqual(now, wanted);
      expect([seed, step, await eventually(shown, holds)]).toEqual([seed, step, wanted]);
    }
  });

  it('assigns a unique number to every issue', async () => {
    const answers = await inParallel(40, (service) => post(service, '').send({ title: 'Numbered' }));
    expect(new Set(answers.map((answer) => answer.body.number)).size).toBe(40);
  });
});
