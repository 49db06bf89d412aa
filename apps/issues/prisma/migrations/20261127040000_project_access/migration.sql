-- Who reads the issues of a project. Those that exist stay open to everyone.
CREATE TYPE "project_visibility" AS ENUM ('everyone', 'reporters', 'members', 'sealed');
CREATE TYPE "project_role" AS ENUM ('viewer', 'member', 'manager');
ALTER TABLE "projects" ADD COLUMN "visibility" "project_visibility" NOT NULL DEFAULT 'everyone';
ALTER TABLE "projects" ADD CONSTRAINT "projects_default_visibility_check" CHECK (key IS NOT NULL OR visibility = 'everyone');

CREATE TABLE "project_members" (
    "project_id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "role" "project_role" NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "project_members_pkey" PRIMARY KEY ("user_id", "project_id")
);
CREATE INDEX "project_members_project_idx" ON "project_members" ("project_id", "user_id");
ALTER TABLE "project_members" ADD CONSTRAINT "project_members_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects" ("id") ON DELETE RESTRICT ON UPDATE CASCADE;

CREATE TABLE "project_activity" (
    "id" BIGSERIAL NOT NULL,
    "project_id" UUID NOT NULL,
    "actor_id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "user_id" UUID,
    "field" TEXT,
    "old_value" JSONB,
    "new_value" JSONB,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "project_activity_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "project_activity_project_idx" ON "project_activity" ("project_id", "id");
ALTER TABLE "project_activity" ADD CONSTRAINT "project_activity_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects" ("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- History is append-only for every role.
CREATE FUNCTION refuse_change_of_project_activity() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'project_activity is append-only';
END
$$;
CREATE TRIGGER project_activity_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON "project_activity"
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_project_activity();

-- The projects whose events are sent; empty for all that everyone reads.
ALTER TABLE "webhook_endpoints" ADD COLUMN "project_ids" UUID[] DEFAULT ARRAY[]::UUID[];
