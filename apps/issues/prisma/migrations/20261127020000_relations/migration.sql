-- How issues are related to each other. Writers take a lock of all relations first, so that no two close a cycle together.
CREATE TYPE "issue_relation_kind" AS ENUM ('blocks', 'parent', 'relates', 'duplicate');
CREATE TABLE "issue_relations" (
    "id" UUID NOT NULL,
    "source_id" UUID NOT NULL,
    "target_id" UUID NOT NULL,
    "kind" "issue_relation_kind" NOT NULL,
    "created_by" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "issue_relations_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "issue_relations_other_check" CHECK (source_id <> target_id)
);
CREATE UNIQUE INDEX "issue_relations_source_key" ON "issue_relations" ("source_id", "kind", "target_id");
CREATE INDEX "issue_relations_target_idx" ON "issue_relations" ("target_id", "kind");
CREATE UNIQUE INDEX "issue_relations_parent_key" ON "issue_relations" ("target_id") WHERE kind = 'parent';
ALTER TABLE "issue_relations" ADD CONSTRAINT "issue_relations_source_id_fkey" FOREIGN KEY ("source_id") REFERENCES "issues" ("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "issue_relations" ADD CONSTRAINT "issue_relations_target_id_fkey" FOREIGN KEY ("target_id") REFERENCES "issues" ("id") ON DELETE RESTRICT ON UPDATE CASCADE;
