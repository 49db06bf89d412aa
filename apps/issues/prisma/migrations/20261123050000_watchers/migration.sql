-- The watchers of an issue besides its reporter, who watches without a row. A row with `is_watching` false is of a person who
-- has stopped, which may be the reporter: taking part in the issue does not change it. There is no foreign key, because issues
-- are never deleted.
CREATE TABLE "issue_watchers" (
    "issue_id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "is_watching" BOOLEAN NOT NULL DEFAULT true,
    "since" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "issue_watchers_pkey" PRIMARY KEY ("issue_id", "user_id")
);

-- Whether the reporter watches without a row. An import does not make its user a watcher of the imported issues.
ALTER TABLE "issues" ADD COLUMN "reporter_watches" BOOLEAN NOT NULL DEFAULT true;
UPDATE "issues" i SET "reporter_watches" = false
 WHERE EXISTS (SELECT FROM "tracker_links" t WHERE t.issue_id = i.id AND t.remote_created_at IS NOT NULL);

-- The people of the present issues.
INSERT INTO "issue_watchers" ("issue_id", "user_id", "since")
SELECT issue_id, user_id, min(since) FROM (
    SELECT id AS issue_id, assignee_id AS user_id, created_at AS since FROM "issues" WHERE assignee_id IS NOT NULL
    UNION ALL SELECT issue_id, author_id, created_at FROM "comments" WHERE author_id IS NOT NULL
) people
 WHERE NOT EXISTS (SELECT FROM "issues" i WHERE i.id = people.issue_id AND i.reporter_id = people.user_id AND i.reporter_watches)
 GROUP BY issue_id, user_id;

CREATE INDEX "issue_watchers_user_idx" ON "issue_watchers" ("user_id", "since", "issue_id") WHERE is_watching;
