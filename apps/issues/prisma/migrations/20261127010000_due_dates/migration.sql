-- The day on which an issue is due, and the day of the next reminder: the day before it, or the day itself. NULL for none.
ALTER TABLE "issues" ADD COLUMN "due_on" DATE, ADD COLUMN "remind_on" DATE;

-- Lists in the order of the due date, those without one last.
CREATE INDEX "issues_due_idx" ON "issues" ((coalesce("due_on", 'infinity'::date)), "created_at", "id");
CREATE INDEX "issues_remind_idx" ON "issues" ("remind_on") WHERE "remind_on" IS NOT NULL;

-- As before, with the due date. A reminder is no change of an issue.
DROP TRIGGER "issues_rev" ON "issues";
CREATE TRIGGER "issues_rev" BEFORE UPDATE OF "id", "number", "title", "description", "priority", "status", "reporter_id", "assignee_id",
    "version", "rev", "comments_count", "created_at", "updated_at", "resolved_at", "closed_at", "label_ids", "mention_ids",
    "reporter_watches", "due_on" ON "issues" FOR EACH ROW EXECUTE FUNCTION increase_rev_of_changed_issue();
