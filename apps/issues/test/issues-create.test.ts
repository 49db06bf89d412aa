import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import { publicBaseUrl } from './support/environment.ts';
import { createIssue, etagOf, getIssue, historyOf, issueIn, issuesPath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
let ann: TestPerson;
let bob: TestPerson;

beforeAll(async () => {
  app = await startTestApp();
  ann = await aPerson(app);
  bob = await aPerson(app, { sso_provider: 'google', sso_id: 'bob-at-google' });
});
afterAll(() => app.close());

const countIssues = () => app.sql('SELECT count(*) FROM issues');

describe('POST /api/v1/issues/', () => {
  it('returns 201 with the issue, its URL and its ETag', async () => {
    const response = await ann
      .post(issuesPath, {
        title: 'Printer',
        description: 'It does **not** print.',
        priority: 'HIGH',
        due_on: '2026-12-31',
      })
      .expect(201);
    const issue = issueIn(response);
    expect(response.headers.location).toBe(`${publicBaseUrl}/api/v1/issues/${issue.id}/`);
    expect(response.headers.etag).toMatch(/^"1\.[\w-]{16}-[\w-]{16}"$/);
    expect(response.headers.etag).toBe(await etagOf(ann, issue));
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(issue).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      number: expect.any(Number),
      key: `ISS-${issue.number}`,
      project: { id: expect.any(String), key: 'ISS', name: 'Default project', visibility: 'everyone' },
      title: 'Printer',
      description: 'It does **not** print.',
      description_truncated: false,
      priority: 'HIGH',
      status: 'OPEN',
      allowed_transitions: ['IN_PROGRESS', 'RESOLVED', 'CLOSED'],
      reporter: { id: ann.id, username: ann.username },
      assignee: null,
      due_on: '2026-12-31',
      links: [],
      labels: [],
      links_count: 0,
      external: null,
      sync: {
        state: 'not_configured',
        last_synced_at: null,
        last_error: null,
        last_result: null,
        moved_to: null,
        conflicts_count: 0,
        conflicts: [],
        next_attempt_at: null,
      },
      comments_count: 0,
      comments: [],
      comments_truncated: false,
      mentions: [],
      attachments: [],
      attachments_count: 0,
      comments_url: `https://issues.test/api/v1/issues/${issue.id}/comments/`,
      version: 1,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updated_at: issue.created_at,
      resolved_at: null,
      closed_at: null,
    });
    expect(Math.abs(Date.parse(issue.created_at) - Date.now())).toBeLessThan(60_000);
    expect(await getIssue(ann, issue)).toEqual(issue);
    expect(await historyOf(ann, issue)).toEqual([
      { kind: 'created', field: null, old: null, new: null, actor: { id: ann.id, username: ann.username } },
    ]);
  });

  it('requires only a title', async () => {
    expect(await createIssue(ann, { title: '  Printer  ' })).toMatchObject({
      title: 'Printer',
      description: '',
      priority: 'MEDIUM',
    });
  });

  it.each([
    ['low', 'LOW'],
    ['Normal', 'MEDIUM'],
    [' CRITICAL ', 'CRITICAL'],
    ['uRGENT', 'URGENT'],
  ])('reads the priority %j as %s', async (priority, expected) => {
    expect(await createIssue(ann, { priority })).toMatchObject({ priority: expected });
  });

  it('accepts texts up to the limit in characters and returns them unchanged', async () => {
    const texts = { title: '🖨'.repeat(255), description: `\r\n\t${'é'.repeat(64_990)}🖨\u2028` };
    expect(await createIssue(ann, texts)).toMatchObject(texts);
  });

  it('keeps invisible characters in a title that shows something', async () => {
    for (const title of [
      '\u200b!',
      '\u200fשלום!\u200f',
      '👩\u200d💻',
      'zero\u200bwidth',
      '\u202aC:\\x\u202c',
    ])
      expect(await createIssue(ann, { title })).toMatchObject({ title });
  });

  it('accepts texts that are expensive for the search index', async () => {
    const distinct = Array.from({ length: 21_000 }, (_, i) =>
      String.fromCodePoint(0x4e00 + (i % 20_000)),
    ).join(' ');
    for (const description of [distinct, 'a-'.repeat(32_500), 'x'.repeat(65_000), 'a@b.c/'.repeat(10_000)]) {
      await createIssue(ann, { description });
    }
  });

  it('assigns by id, for staff by e-mail in any case, and to the reporter', async () => {
    const staff = await aPerson(app, { is_staff: true });
    const assignee = { id: bob.id, username: bob.username };
    expect(await createIssue(ann, { assignee_id: bob.id.toUpperCase() })).toMatchObject({ assignee });
    expect(await createIssue(staff, { assignee_email: bob.email.toUpperCase() })).toMatchObject({ assignee });
    const self = { assignee_email: ann.email.toUpperCase() };
    expect(await createIssue(ann, self)).toMatchObject({ assignee: { id: ann.id } });
    expect(await createIssue(ann, { assignee_id: ann.id })).toMatchObject({ assignee: { id: ann.id } });
    expect(await createIssue(ann, { assignee_id: null })).toMatchObject({ assignee: null });
  });

  it('accepts every type of link, and people by id, for staff by e-mail, and by SSO pair', async () => {
    const links = [
      { type: 'helpdesk_ticket', ref: '4711', title: 'Printer', url: 'https://help.example.com/4711' },
      {
        type: 'entity',
        ref: 'acme',
        relation: 'blocks',
        metadata: { tier: 1, tags: ['a', null], nested: { x: true } },
      },
      { type: 'invoice', ref: '2024-17', relation: 'caused_by' },
      { type: 'user', ref: bob.id.toUpperCase() },
    ];
    const issue = await createIssue(ann, { links });
    expect(issue.links).toEqual([
      expect.objectContaining({ ...links[0], relation: 'relates_to', metadata: null, created_by: ann.id }),
      expect.objectContaining({ ...links[1], title: null, url: null }),
      expect.objectContaining({ ...links[2] }),
      expect.objectContaining({ type: 'user', ref: bob.id }),
    ]);
    for (const ref of [
      bob.email,
      { email: bob.email },
      { sso_provider: 'google', sso_id: 'bob-at-google' },
      { id: bob.id },
    ]) {
      const staff = await aPerson(app, { is_staff: true });
      expect((await createIssue(staff, { links: [{ type: 'user', ref }] })).links).toMatchObject([
        { ref: bob.id },
      ]);
    }
  });

  it('keeps one link per target, with the values of the last occurrence', async () => {
    const links = [
      { type: 'invoice', ref: '1', title: 'first' },
      { type: 'invoice', ref: '2' },
      { type: 'invoice', ref: '1', title: 'last' },
    ];
    expect((await createIssue(ann, { links })).links).toMatchObject([
      { ref: '2' },
      { ref: '1', title: 'last' },
    ]);
  });

  it('lists ignored members in a header, except members of its own responses', async () => {
    const created = await ann.post('/api/v1/issues/', { title: 'x', prioritty: 'HIGH', 'due, on': 'ü' });
    expect([created.status, created.body.priority]).toEqual([201, 'MEDIUM']);
    expect(created.headers['x-ignored-fields']).toBe('prioritty, due??on');
    const path = `/api/v1/issues/${created.body.id}/`;
    const echoed = await ann.put(path, { ...created.body, title: 'y' }).expect(200);
    expect(echoed.headers).not.toHaveProperty('x-ignored-fields');
    for (const [request, status] of [
      [ann.patch(path).send({ title: 'z', assignee: null, asignee_id: null }), 200],
      [ann.post(`${path}status/`, { status: 'OPEN', asignee_id: 'x' }), 200],
      [ann.post(`${path}comments/`, { body: 'x', asignee_id: 'x' }), 201],
      [ann.post(`${path}links/`, { type: 'invoice', ref: '1', asignee_id: 'x' }), 201],
      [ann.post('/api/v1/issues/', { title: '', asignee_id: 'x' }), 422],
    ] as const) {
      const response = await request;
      expect([response.status, response.headers['x-ignored-fields']]).toEqual([status, 'asignee_id']);
    }
    const nested = await ann.post('/api/v1/issues/', {
      title: 'x',
      links: [
        { type: 'invoice', ref: '1', metadata: { any: { member: 1 } }, colour: 'red' },
        { type: 'user', ref: { id: ann.id, size: 1 } },
      ],
      labels: [],
    });
    expect([nested.status, nested.headers['x-ignored-fields']]).toEqual([
      201,
      'links.0.colour, links.1.ref.size',
    ]);
    const again = await ann.put(`/api/v1/issues/${nested.body.id}/`, nested.body).expect(200);
    expect(again.headers).not.toHaveProperty('x-ignored-fields');
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`field-${index}`, 1]));
    const long = await ann.post('/api/v1/issues/', { title: 'x', ['x'.repeat(5000)]: 1, ...many });
    const names = String(long.headers['x-ignored-fields']).split(', ');
    expect(names).toHaveLength(20);
    expect(names[0]).toBe('x'.repeat(100));
  });

  it('refuses ignored members with `Prefer: handling=strict`, and says that it applied the preference', async () => {
    const create = (prefer: string, body: object) =>
      ann.post('/api/v1/issues/', { title: 'x', ...body }).set('Prefer', prefer);
    for (const prefer of ['handling=strict', 'respond-async, Handling="strict"; a=b, handling=lenient']) {
      const refused = await create(prefer, { prioritty: 'HIGH', size: 1 });
      expectInvalidFields(refused, ['prioritty', 'size']);
      const link = { type: 'invoice', ref: '1', colour: 'red' };
      expectInvalidFields(await create(prefer, { links: [link] }), ['links.0.colour']);
      const accepted = await create(prefer, { id: 'read-only' });
      expect([refused, accepted].map(({ headers }) => headers['preference-applied'])).toEqual([
        'handling=strict',
        'handling=strict',
      ]);
      expect(accepted.status).toBe(201);
    }
    for (const prefer of ['handling=lenient, handling=strict', 'handling=stricter', 'x-handling=strict']) {
      const { status, headers } = await create(prefer, { prioritty: 'HIGH' });
      expect([status, headers['x-ignored-fields'], headers['preference-applied']]).toEqual([
        201,
        'prioritty',
        undefined,
      ]);
    }
  });

  it('ignores unknown and read-only members', async () => {
    const issue = await createIssue(ann, {
      id: 'x',
      number: 1,
      key: 'X-1',
      version: 9,
      colour: 'red',
      status: 'OPEN',
    });
    expect(issue).toMatchObject({ version: 1, status: 'OPEN' });
    expect(issue).not.toHaveProperty('colour');
  });

  it('returns 422 for any status other than OPEN and names the status endpoint', async () => {
    const response = await ann.post(issuesPath, { title: 'x', status: 'CLOSED' });
    expectProblem(response, 422, 'status_not_writable');
    expect(response.body.detail).toContain('/status/');
  });

  it.each<[string, unknown]>([
    ['title', {}],
    ['title', { title: '' }],
    ['title', { title: '   ' }],
    ['title', { title: null }],
    ['title', { title: 1 }],
    ['title', { title: 'two\nlines' }],
    ['title', { title: 'two\u2028lines' }],
    ['title', { title: 'nul\u0000' }],
    ['title', { title: '\ud800' }],
    ['title', { title: 'x\uffff' }],
    ['title', { title: 'x\ufff9' }],
    ['title', { title: '\u200b\u2800' }],
    ['title', { title: '\u3164' }],
    ['title', { title: '\u0301' }],
    ['title', { title: 'x'.repeat(256) }],
    ['title', { title: 'left \u202eand right' }],
    ['title', { title: 'left \u202dand right' }],
    ['description', { title: 'x', description: 'if (isAdmin\u202e) {\u202c' }],
    ['title', { title: '🖨'.repeat(256) }],
    ['description', { title: 'x', description: 'x'.repeat(65_001) }],
    ['description', { title: 'x', description: 'nul\u0000' }],
    ['description', { title: 'x', description: '\udfff' }],
    ['description', { title: 'x', description: '\u{10ffff}' }],
    ['description', { title: 'x', description: 5 }],
    ['priority', { title: 'x', priority: 'MAJOR' }],
    ['priority', { title: 'x', priority: 3 }],
    ['priority', { title: 'x', priority: null }],
    ['due_on', { title: 'x', due_on: '2026-02-29' }],
    ['due_on', { title: 'x', due_on: '0000-01-01' }],
    ['due_on', { title: 'x', due_on: '2026-12-31T00:00:00Z' }],
    ['status', { title: 'x', status: 'open' }],
    ['assignee_id', { title: 'x', assignee_id: 'bob' }],
    ['assignee_email', { title: 'x', assignee_email: 'bob' }],
    ['assignee_email', { title: 'x', assignee_email: 'bob@example.com', assignee_id: null }],
    ['links', { title: 'x', links: 'x' }],
    [
      'links',
      { title: 'x', links: Array.from({ length: 51 }, (_, i) => ({ type: 'invoice', ref: `${i}` })) },
    ],
    ['links.0', { title: 'x', links: [null] }],
    ['links.0.type', { title: 'x', links: [{ type: 'page', ref: '1' }] }],
    ['links.0.type', { title: 'x', links: [{ type: 'external_issue', ref: 'redmine:17' }] }],
    ['links.0.ref', { title: 'x', links: [{ type: 'invoice' }] }],
    ['links.0.ref', { title: 'x', links: [{ type: 'invoice', ref: '' }] }],
    ['links.0.ref', { title: 'x', links: [{ type: 'invoice', ref: 17 }] }],
    ['links.0.ref', { title: 'x', links: [{ type: 'invoice', ref: 'x'.repeat(256) }] }],
    ['links.0.ref', { title: 'x', links: [{ type: 'invoice', ref: { email: 'ann@example.com' } }] }],
    [
      'links.1.ref',
      {
        title: 'x',
        links: [
          { type: 'invoice', ref: '1' },
          { type: 'user', ref: 'bob' },
        ],
      },
    ],
    ['links.0.ref', { title: 'x', links: [{ type: 'user', ref: { sso_provider: 'google' } }] }],
    ['links.0.url', { title: 'x', links: [{ type: 'invoice', ref: '1', url: 'javascript:alert(1)' }] }],
    ['links.0.url', { title: 'x', links: [{ type: 'invoice', ref: '1', url: 'https://' }] }],
    ['links.0.relation', { title: 'x', links: [{ type: 'invoice', ref: '1', relation: 'likes' }] }],
    ['links.0.metadata', { title: 'x', links: [{ type: 'invoice', ref: '1', metadata: [] }] }],
    ['links.0.metadata', { title: 'x', links: [{ type: 'invoice', ref: '1', metadata: { a: '\u0000' } }] }],
    ['links.0.metadata', { title: 'x', links: [{ type: 'invoice', ref: '1', metadata: { '\ud800': 1 } }] }],
    [
      'links.0.metadata',
      { title: 'x', links: [{ type: 'invoice', ref: '1', metadata: { a: 'é'.repeat(2045) } }] },
    ],
    [
      'links.0.url',
      { title: 'x', links: [{ type: 'invoice', ref: '1', url: `https://example.com/${'é'.repeat(1015)}` }] },
    ],
    [
      'links.0.metadata',
      { title: 'x', links: [{ type: 'invoice', ref: '1', metadata: { a: 'x'.repeat(5000) } }] },
    ],
    ['body', []],
    ['body', 'text'],
  ])('returns 422 for an invalid %s (%#) and creates nothing', async (field, body) => {
    const before = await countIssues();
    const response = await ann.post(issuesPath).type('json').send(JSON.stringify(body));
    expectInvalidFields(response, [field]);
    expect(await countIssues()).toEqual(before);
  });

  it.each<[string, object]>([
    ['assignee_id', { assignee_id: '01980c5e-0000-7000-8000-000000000000' }],
    ['assignee_email', { assignee_email: 'nobody@example.com' }],
    ['links.0.ref', { links: [{ type: 'user', ref: 'nobody@example.com' }] }],
  ])('returns 422 when %s (%#) names an unknown person and creates nothing', async (field, body) => {
    const before = await countIssues();
    const response = await ann.post(issuesPath, { title: 'x', ...body });
    expectInvalidFields(response, [field], 'unknown_identity');
    expect(await countIssues()).toEqual(before);
  });

  it('lists the allowed values in the error of an enumeration', async () => {
    const { body } = await ann.post(issuesPath, { title: 'x', priority: 'MAJOR' });
    expect(body.errors).toEqual([
      { field: 'priority', message: 'must be one of LOW, MEDIUM, HIGH, URGENT, CRITICAL' },
    ]);
  });

  it('accepts or rejects deeply nested JSON without exhausting the stack', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const send = (text: string) => ann.post(issuesPath).type('json').send(text);
    expect((await send(`{"title":"x","unknown":${deep}}`)).status).toBe(201);
    expectInvalidFields(
      await send(`{"title":"x","links":[{"type":"invoice","ref":"1","metadata":{"a":${deep}}}]}`),
      ['links.0.metadata'],
    );
    expectInvalidFields(await send(`{"title":${deep}}`), ['title']);
  });

  it('lets staff link an external issue', async () => {
    const staff = await aPerson(app, { is_staff: true });
    const links = [{ type: 'external_issue', ref: 'redmine:17' }];
    expect((await createIssue(staff, { links })).links).toMatchObject(links);
  });

  it('gives concurrent issues unique numbers', async () => {
    const issues = await Promise.all(Array.from({ length: 30 }, () => createIssue(ann)));
    expect(new Set(issues.map((issue) => issue.number)).size).toBe(30);
    expect(new Set(issues.map((issue) => issue.id)).size).toBe(30);
  });

  it('returns no e-mail address', async () => {
    const staff = await aPerson(app, { is_staff: true });
    const issue = await createIssue(staff, {
      assignee_email: bob.email,
      links: [{ type: 'user', ref: ann.email }],
    });
    expect(JSON.stringify(issue)).not.toContain('@');
  });

  it('rejects a body that is not JSON, too large or missing', async () => {
    expectProblem(await ann.post(issuesPath).type('json').send('{'), 400, 'malformed_body');
    expectProblem(await ann.post(issuesPath).type('text').send('title=x'), 415, 'unsupported_media_type');
    expectProblem(await ann.post(issuesPath), 422, 'validation_failed');
    expectProblem(await ann.post(issuesPath, { title: 'x'.repeat(1_100_000) }), 413, 'body_too_large');
  });

  it('accepts a description of the maximum length with every character escaped', async () => {
    const body = `{"title":"Long","description":"${'\\ud83d\\ude00'.repeat(65_000)}"}`;
    const { body: issue } = await ann.post(issuesPath).type('json').send(body).expect(201);
    expect(issue.description).toBe('\u{1f600}'.repeat(65_000));
  });

  it('is served with and without a trailing slash, without a redirect', async () => {
    for (const path of ['/api/v1/issues', '/api/v1/issues/']) {
      await ann.post(path, { title: 'x' }).expect(201);
      await ann.get(path).expect(200);
    }
  });
});
