-- Projects. The default project has a fixed id, which the column of issues has as its default, so no row is rewritten. Its key is the
-- configured prefix, so it is not here.
CREATE TABLE "projects" (
    "id" UUID NOT NULL,
    "key" TEXT,
    "name" TEXT NOT NULL,
    "archived_at" TIMESTAMPTZ(3),
    "version" INTEGER NOT NULL DEFAULT 1,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "projects_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "projects_name_check" CHECK (char_length(name) <= 100),
    CONSTRAINT "projects_default_check" CHECK ((id = '00000000-0000-7000-8000-000000000001') = (key IS NULL)),
    CONSTRAINT "projects_default_archived_check" CHECK (key IS NOT NULL OR archived_at IS NULL)
);
CREATE UNIQUE INDEX "projects_key_key" ON "projects" ("key");
INSERT INTO "projects" ("id", "name") VALUES ('00000000-0000-7000-8000-000000000001', 'Default project');

-- Present and former keys. None is ever given to another project.
CREATE TABLE "project_keys" (
    "key" TEXT NOT NULL,
    "project_id" UUID NOT NULL,

    CONSTRAINT "project_keys_pkey" PRIMARY KEY ("key"),
    CONSTRAINT "project_keys_key_check" CHECK (key ~ '^[A-Z][A-Z0-9]{0,9}$')
);
CREATE INDEX "project_keys_project_idx" ON "project_keys" ("project_id");
ALTER TABLE "project_keys" ADD CONSTRAINT "project_keys_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects" ("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- One row, which writers of projects lock first. `rev` counts their changes: cached texts of issues depend on it.
CREATE TABLE "project_catalog" (
    "id" BOOLEAN NOT NULL DEFAULT true,
    "rev" INTEGER NOT NULL DEFAULT 1,

    CONSTRAINT "project_catalog_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "project_catalog_one_row_check" CHECK (id)
);
INSERT INTO "project_catalog" DEFAULT VALUES;

ALTER TABLE "issues" ADD COLUMN "project_id" UUID NOT NULL DEFAULT '00000000-0000-7000-8000-000000000001';
ALTER TABLE "issues" ADD CONSTRAINT "issues_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects" ("id") ON DELETE RESTRICT ON UPDATE CASCADE NOT VALID;

-- As before, with the project.
DROP TRIGGER "issues_rev" ON "issues";
CREATE TRIGGER "issues_rev" BEFORE UPDATE OF "id", "number", "title", "description", "priority", "status", "reporter_id", "assignee_id",
    "version", "rev", "comments_count", "created_at", "updated_at", "resolved_at", "closed_at", "label_ids", "mention_ids",
    "reporter_watches", "due_on", "project_id" ON "issues" FOR EACH ROW EXECUTE FUNCTION increase_rev_of_changed_issue();
