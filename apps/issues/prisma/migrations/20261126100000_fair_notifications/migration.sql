-- The revision of the issue after the change, so that a reader knows the events of one change. NULL for earlier events.
ALTER TABLE "events" ADD COLUMN "rev" INTEGER;

-- A source is a person, an actor, and whether the actor's change concerns the person: `source` is a hash of the three.
-- `source_place` counts up for each source. The newest 500 are kept, so no actor pushes out what another has caused. NULL for
-- earlier notifications. Only indexes in the order of pages begin with the person, so that no other one is chosen for a page.
ALTER TABLE "notifications"
    ADD COLUMN "source" UUID,
    ADD COLUMN "source_place" BIGINT,
    ADD COLUMN "more_count" INTEGER NOT NULL DEFAULT 0;
CREATE INDEX "notifications_source_idx" ON "notifications" ("source", "source_place");
CREATE UNIQUE INDEX "notifications_event_identity_key" ON "notifications" ("event_id", "identity_id");
DROP INDEX "notifications_event_key";
CREATE INDEX "notifications_unread_idx" ON "notifications" ("identity_id", "place") WHERE "read_at" IS NULL;
CREATE INDEX "notifications_concerned_idx" ON "notifications" ("identity_id", "place") WHERE "reason" <> 'watching';
CREATE INDEX "notifications_mentioned_idx" ON "notifications" ("issue_id", "identity_id") WHERE "reason" = 'mentioned';

-- Changes whose watchers are notified later, because their actor has changed issues with many watchers shortly before.
CREATE TABLE "deferred_notifications" (
    "event_id" BIGINT NOT NULL PRIMARY KEY,
    -- The zero UUID for the external tracker.
    "actor_id" UUID NOT NULL,
    "type" TEXT NOT NULL,
    "issue_id" UUID NOT NULL,
    "comment_id" UUID,
    "at" TIMESTAMPTZ(3) NOT NULL,
    -- The number of watchers.
    "size" INTEGER NOT NULL,
    -- The people that the change concerns. They are notified already.
    "concerned_ids" UUID[]
);
CREATE INDEX "deferred_notifications_actor_idx" ON "deferred_notifications" ("actor_id", "event_id");
