-- In a transaction of its own: that of the column locks issues for readers, this one for writers only.
ALTER TABLE "issues" VALIDATE CONSTRAINT "issues_project_id_fkey";
CREATE INDEX "issues_project_idx" ON "issues" ("project_id", "created_at", "id");
