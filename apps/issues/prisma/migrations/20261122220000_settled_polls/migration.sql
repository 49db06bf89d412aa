-- When `changes_read_until` last increased, and whether earlier changes can still become visible.
ALTER TABLE "tracker_states" ADD COLUMN "changes_read_at" TIMESTAMPTZ(3),
ADD COLUMN "changes_settled" BOOLEAN NOT NULL DEFAULT false;
