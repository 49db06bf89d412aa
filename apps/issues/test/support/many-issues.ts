import { projectsMax } from '@tessera/contracts';
import type pg from 'pg';

/** The assignee of one issue in a thousand, and the reporter of as many. */
export const busyPerson = '01980c5e-0000-7000-8000-000000000001';

/** One issue in a thousand has the first label, every eighth one the second. */
export const [rareLabel, commonLabel] = [
  '01980c5e-0000-7000-8000-00000000000a',
  '01980c5e-0000-7000-8000-00000000000b',
] as const;

/** A project of one issue in a thousand, and one of the oldest fiftieth. */
export const [rareProject, oldProject] = [
  '01980c5e-0000-7000-8000-00000000000c',
  '01980c5e-0000-7000-8000-00000000000d',
] as const;

/** Sixty projects share one issue in twenty. The others have none. All other issues are in the default project. */
export const otherProjects = Array.from(
  { length: projectsMax - 3 },
  (_, place) => `01980c5e-0000-7000-8001-${String(place).padStart(12, '0')}`,
);
export const sixtyProjects = otherProjects.slice(0, 60);

/** The tracker of all synced issues. */
export const syncedWith = { provider: 'redmine', project: 'website' } as const;

/**
 * Fills an empty database with issues, two seconds apart. The word "printer" is in every eighth issue, "everywhere" in
 * all, "seldom" in one of two hundred, "zebrafish" in four, "recently" in the newest thousand, "formerly" in the oldest
 * thousand. One issue in a thousand is REOPENED, as many share a link target, as many
 * failed to be synced, as many have a conflict; every second one is due to be synced again. Every second issue has a comment: the word
 * "remark" is in all, "walrus" in four; the second oldest issue has 11,000 more with the word "chatter". PostgreSQL keeps no statistics
 * about the words, as in production for most words of a language.
 */
export async function fillWithIssues(client: pg.ClientBase, count: number): Promise<void> {
  // Building the largest index at the end is much faster than maintaining it for each row.
  await client.query('DROP INDEX issue_search_words_idx, comments_words_idx');
  await client.query(
    `INSERT INTO identity_mirror (id, username, email, as_of, source)
     SELECT CASE n WHEN 1 THEN $1 ELSE gen_random_uuid() END, 'user' || n, 'user' || n || '@example.com', now(), 'token'
       FROM generate_series(1, 1000) n`,
    [busyPerson],
  );
  // As many projects as there may be: PostgreSQL scans a table of a few rows.
  await client.query(
    `INSERT INTO projects (id, key, name) SELECT $1::uuid, 'RARE', 'Rare' UNION ALL SELECT $2::uuid, 'OLD', 'Old'
     UNION ALL SELECT id, 'P' || n, 'Project ' || n FROM unnest($3::uuid[]) WITH ORDINALITY other (id, n)`,
    [rareProject, oldProject, otherProjects],
  );
  // One transaction, as when a person creates an issue: a link that is added later would update its issue.
  await client.query('BEGIN');
  await client.query(
    `WITH people AS MATERIALIZED (SELECT id, row_number() OVER (ORDER BY username, id) - 1 AS place FROM identity_mirror)
     INSERT INTO issues (id, title, description, priority, status, reporter_id, assignee_id, label_ids, project_id, comments_count,
                         created_at, updated_at, search)
     SELECT *, to_tsvector('simple', title || ' ' || description) FROM (
     SELECT gen_random_uuid(),
            'Issue ' || n || ' w' || n * 7919 % 5000 || CASE WHEN n % 8 = 0 THEN ' printer' ELSE '' END AS title,
            'everywhere w' || n % 50 || ' w' || n * 31 % 500 || ' w' || n * 41 % 5000
              || CASE WHEN n % ($1::bigint / 4) = 17 THEN ' zebrafish' ELSE '' END
              || CASE WHEN n % 200 = 0 THEN ' seldom' ELSE '' END
              || CASE WHEN n > $1::bigint - 1000 THEN ' recently' WHEN n <= 1000 THEN ' formerly' ELSE '' END AS description,
            (enum_range(NULL::issue_priority))[1 + (n * 7 % 5)::int],
            (CASE WHEN n % 1000 = 1 THEN 'REOPENED' WHEN n % 10 < 3 THEN 'OPEN' WHEN n % 10 = 3 THEN 'IN_PROGRESS'
                  WHEN n % 10 = 4 THEN 'RESOLVED' ELSE 'CLOSED' END)::issue_status,
            reporter.id, CASE WHEN n % 3 > 0 THEN assignee.id END,
            CASE WHEN n % 1000 = 7 THEN ARRAY[$2::uuid] ELSE '{}' END || CASE WHEN n % 8 = 7 THEN ARRAY[$3::uuid] ELSE '{}' END,
            (CASE WHEN n % 1000 = 9 THEN $4 WHEN n <= $1::bigint / 50 THEN $5
                  WHEN (n + n / 1000) % 20 = 5 THEN ($6::text[])[1 + n % 60] ELSE '00000000-0000-7000-8000-000000000001' END)::uuid,
            CASE WHEN n = 2 THEN 11001 ELSE 1 - n % 2 END,
            now() - ($1::bigint - n) * interval '2 seconds', now() - (n * 7919 % $1::bigint) * interval '2 seconds'
       FROM generate_series(1, $1::bigint) n
       JOIN people reporter ON reporter.place = n * 37 % 1000
       JOIN people assignee ON assignee.place = n * 41 % 1000
      ORDER BY n) made`,
    [count, rareLabel, commonLabel, rareProject, oldProject, sixtyProjects],
  );
  await client.query(
    `INSERT INTO issue_links (id, issue_id, type, ref, created_by)
     SELECT gen_random_uuid(), id, 'invoice', (number % 1000)::text, reporter_id FROM issues`,
  );
  await client.query(
    `INSERT INTO tracker_links (issue_id, provider, project, requested_by, remote_id, last_synced_at, last_error,
                                next_attempt_at, conflicts)
     SELECT id, $1, $2, reporter_id, number::text, now(),
            CASE WHEN number % 1000 = 1 THEN 'tracker_rejected' WHEN number % 2 = 0 THEN 'tracker_unavailable' END,
            CASE WHEN number % 2 = 0 THEN now() END,
            CASE WHEN number % 1000 = 3 THEN '[{}]' ELSE '[]' END::jsonb
       FROM issues`,
    [syncedWith.provider, syncedWith.project],
  );
  await client.query(
    `INSERT INTO comments (id, issue_id, body, author_id, words)
     SELECT *, to_tsvector('simple', body) FROM (
     SELECT gen_random_uuid(), id,
            'remark w' || number * 53 % 5000 || CASE WHEN number % ($1::bigint / 4) = 18 THEN ' walrus' ELSE '' END AS body, reporter_id
       FROM issues WHERE number % 2 = 0
     UNION ALL
     SELECT gen_random_uuid(), id, 'chatter', reporter_id FROM issues, generate_series(1, 11000) WHERE number = 2) made`,
    [count],
  );
  // The person watches a fifth of the issues, and has stopped to watch every fiftieth one.
  await client.query(
    `INSERT INTO issue_watchers (issue_id, user_id, is_watching, since)
     SELECT id, $1, number % 50 > 0, created_at FROM issues WHERE number % 5 = 0`,
    [busyPerson],
  );
  await client.query('COMMIT');
  await client.query('CREATE INDEX comments_words_idx ON comments USING gin (words) WITH (fastupdate = off)');
  await client.query('ALTER TABLE comments ALTER COLUMN words SET STATISTICS 0');
  await client.query(
    'CREATE INDEX issue_search_words_idx ON issue_search USING gin (words) WITH (fastupdate = off)',
  );
  await client.query('ALTER TABLE issue_search ALTER COLUMN words SET STATISTICS 0');
  // Sets the visibility map for index-only scans, as autovacuum does. The first vacuum can leave it empty, because it marks no
  // row of a transaction that is not visible to every session yet.
  for (let isVisible = false, count = 0; !isVisible && count < 5; count += 1) {
    await client.query('VACUUM ANALYZE');
    const { rows } = await client.query(
      `SELECT relallvisible > 0 AS "isVisible" FROM pg_class WHERE oid = 'issues'::regclass`,
    );
    isVisible = rows[0]?.isVisible ?? false;
  }
}

/**
 * Adds people with one of 500 surnames and one of 200 first names. Every tenth person has used the service in the last
 * weeks.
 */
export async function fillWithPeople(client: pg.ClientBase, count: number): Promise<void> {
  await client.query(
    `INSERT INTO identity_mirror (id, username, display_name, email, seen_order, as_of, source, words, staff_words)
     SELECT *, to_tsvector('simple', translate(concat_ws(' ', username, display_name), '.-', '  ')),
            to_tsvector('simple', translate(concat_ws(' ', username, display_name, email), '.-@', '   ')) FROM (
     SELECT gen_random_uuid(), first || '.' || last || '-' || n AS username,
            CASE WHEN n % 4 > 0 THEN initcap(first) || ' ' || initcap(last) END AS display_name,
            first || '.' || last || n || '@' || n % 50 || '.example' AS email,
            CASE WHEN n % 10 = 0 THEN -(n % 500) - 1 ELSE 0 END, now(), 'lookup'
       FROM (SELECT n, translate((n % 200)::text, '0123456789', 'aeioulmnrs') || 'na' AS first,
                    translate((n * 7 % 500)::text, '0123456789', 'nabcdefghi') || 'x' || n % 9 AS last
               FROM generate_series(1, $1::int) n) people) made`,
    [count],
  );
  await client.query('VACUUM ANALYZE identity_mirror');
}
