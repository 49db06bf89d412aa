-- A deleted comment stays, so that a sync recognises it in the tracker. `sent_body` is the text that was sent to the
-- tracker before the first change.
ALTER TABLE "comments"
    ADD COLUMN "deleted_at" TIMESTAMPTZ(3),
    ADD COLUMN "sent_body" TEXT;

-- Reading the newest comments must not pass many deleted ones. The previous release uses comments_issue_idx.
CREATE INDEX "comments_shown_idx" ON "comments" ("issue_id", "created_at", "id") WHERE deleted_at IS NULL;
