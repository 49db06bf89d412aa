import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { type AuditFilter, AuditRepository } from '../src/audit/audit.repository.ts';
import { CleanupRepository } from '../src/cleanup/cleanup.repository.ts';
import { Database } from '../src/database.ts';
import { IdentityRepository } from '../src/identities/identity.repository.ts';
import { IntrospectionRepository } from '../src/introspection/introspection.repository.ts';
import { SessionRepository } from '../src/sessions/session.repository.ts';
import { asOwner, createTestDatabase } from './support/test-app.ts';

interface PlanNode {
  'Node Type': string;
  'Index Name'?: string;
  Plans?: PlanNode[];
}

/** Plans of statements on growing tables, with generic plans. */
describe('the plan', () => {
  let pool: pg.Pool;
  let database: Database;
  let statements: string[];
  beforeAll(async () => {
    pool = new pg.Pool({ connectionString: asOwner(await createTestDatabase()), max: 2 });
    const nameOf = ({ sql }: { sql: string }) => {
      statements.push(sql);
      return '';
    };
    database = new Database({ pool, nameOf }, { statementTimeoutMs: 60_000 });
    await pool.query(fill);
    await pool.query('ANALYZE');
  });
  afterAll(async () => {
    await pool.end();
  });

  /** Returns the plan of the last statement, or of the last with the given part. */
  async function planOf(
    ask: () => Promise<unknown>,
    part = '',
  ): Promise<{ nodes: string[]; indexes: string[] }> {
    statements = [];
    await ask();
    const statement = statements.findLast((text) => text.includes(part));
    const { rows } = await pool.query(`EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${statement}`);
    const nodes = flatten(rows[0]['QUERY PLAN'][0].Plan);
    return {
      nodes: nodes.map((node) => node['Node Type']),
      indexes: [...new Set(nodes.flatMap((node) => node['Index Name'] ?? []))],
    };
  }

  const position = { at: new Date(), id: 40_000 };
  const at = new Date();
  const filters: [string, AuditFilter, string][] = [
    ['everything', {}, 'audit_events_at_idx'],
    ['a span of time', { after: at, before: at }, 'audit_events_at_idx'],
    ['an identity', { identityId: randomUUID() }, 'audit_events_identity_idx'],
    ['an identity in a span of time', { identityId: randomUUID(), after: at }, 'audit_events_identity_idx'],
    ['a type', { type: 'refresh.reuse_detected' }, 'audit_events_type_idx'],
    ['failures', { outcome: 'failure' }, 'audit_events_failure_idx'],
  ];
  it.each(filters)(
    'of a page of the audit trail (%s) reads an index in order',
    async (_name, filter, index) => {
      const audit = new AuditRepository(database);
      for (const options of [
        { limit: 51, after: undefined },
        { limit: 51, after: position },
      ]) {
        const { nodes, indexes } = await planOf(() => audit.list(filter, options));
        expect(indexes).toEqual([index]);
        expect(nodes).not.toContain('Seq Scan');
        expect(nodes).not.toContain('Sort');
      }
    },
  );

  const longAgo = new Date(0);
  const sessions = { limit: 51, after: undefined, sessionsValidAfter: longAgo };
  const presented = { jti: randomUUID(), sub: randomUUID() };
  it.each([
    ['the sessions of an identity', () => new SessionRepository(database).list(randomUUID(), sessions)],
    [
      'a page of identities',
      () => new IdentityRepository(database).list({ limit: 201, after: randomUUID() }),
    ],
    ['an SSO pair', () => new IdentityRepository(database).findBySso('google', '17')],
    ['introspection', () => new IntrospectionRepository(database).findRefreshSubject(presented, longAgo)],
    ["the cleanup job's tokens", () => new CleanupRepository(database).deleteExpiredTokens(1000)],
    ["the cleanup job's families", () => new CleanupRepository(database).deleteEmptyFamilies(1000)],
    ["the cleanup job's counters", () => new CleanupRepository(database).deleteOldCounters(1000)],
  ])('of %s uses no sequential scan', async (_name, ask) => {
    expect((await planOf(ask)).nodes).not.toContain('Seq Scan');
  });

  it('of a search for identities reads the index of their words', async () => {
    const page = { limit: 201, after: randomUUID(), search: '42' };
    const { nodes, indexes } = await planOf(
      () => new IdentityRepository(database).list(page),
      'identity_query',
    );
    expect(indexes).toEqual(['identities_search_words_idx', 'identities_words_idx']);
    expect(nodes).not.toContain('Seq Scan');
  });
});

function flatten(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(flatten)];
}

// 5,000 identities, 200 of them with 100 sessions of two tokens each; every 50th event is a failure.
const fill = `
  INSERT INTO identities (id, email, email_canonical, username, search_words, sso_provider, sso_id)
  SELECT gen_random_uuid(), n || '@example.com', n || '@example.com', n, n || ' example com', 'google', n
    FROM generate_series(1, 5000) n;
  INSERT INTO token_families (id, identity_id, session_epoch, expires_at)
  SELECT gen_random_uuid(), id, 0, now() + interval '1 day' FROM (SELECT id FROM identities LIMIT 200), generate_series(1, 100);
  INSERT INTO refresh_tokens (jti, family_id, generation, expires_at)
  SELECT gen_random_uuid(), id, n, expires_at FROM token_families, generate_series(1, 2) n;
  INSERT INTO sign_in_counters SELECT 'email:' || n, 1, now() + interval '1 hour' FROM generate_series(1, 20000) n;
  INSERT INTO audit_events (at, type, outcome, actor, identity_id)
  SELECT now() - n * interval '1 minute', CASE WHEN n % 50 = 0 THEN 'token.refused' ELSE 'refresh.rotated' END,
         CASE WHEN n % 50 = 0 THEN 'failure' ELSE 'success' END, 'user', ids[1 + n % 200]
    FROM (SELECT array_agg(id) AS ids FROM identities), generate_series(1, 40000) n;`;
