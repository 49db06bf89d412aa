-- What a sync has seen is a position in the history, not a revision of the issue's representation.
ALTER TABLE "tracker_links"
    ADD COLUMN "synced_activity_id" BIGINT,
    ADD COLUMN "failed_activity_id" BIGINT;

UPDATE tracker_links t
   SET synced_activity_id = CASE WHEN t.synced_rev = i.rev THEN a.id END,
       failed_activity_id = CASE WHEN t.failed_rev = i.rev THEN a.id END
  FROM issues i,
       LATERAL (SELECT max(id) AS id FROM activity WHERE issue_id = i.id AND origin = 'local') a
 WHERE i.id = t.issue_id;

ALTER TABLE "tracker_links"
    DROP COLUMN "synced_rev",
    DROP COLUMN "failed_rev";
