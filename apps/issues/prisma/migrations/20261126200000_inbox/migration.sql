-- A notification leaves the inbox when it is done, and until the end of a snooze.
ALTER TABLE "notifications"
    ADD COLUMN "done_at" TIMESTAMPTZ(3),
    ADD COLUMN "snoozed_until" TIMESTAMPTZ(3);

-- The unread ones are those of the inbox.
CREATE INDEX "notifications_inbox_idx" ON "notifications" ("identity_id", "place")
    WHERE "done_at" IS NULL AND "snoozed_until" IS NULL;
DROP INDEX "notifications_unread_idx";
CREATE INDEX "notifications_unread_idx" ON "notifications" ("identity_id", "place")
    WHERE "read_at" IS NULL AND "done_at" IS NULL AND "snoozed_until" IS NULL;
CREATE INDEX "notifications_snoozed_idx" ON "notifications" ("snoozed_until") WHERE "snoozed_until" IS NOT NULL;

-- How often a person has marked notifications. With the newest notification, this tells the streams of the person that something
-- has changed.
CREATE TABLE "notification_marks" (
    "identity_id" UUID NOT NULL,
    "count" BIGINT NOT NULL,

    CONSTRAINT "notification_marks_pkey" PRIMARY KEY ("identity_id")
);
