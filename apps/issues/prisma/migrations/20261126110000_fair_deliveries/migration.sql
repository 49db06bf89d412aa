-- Whose change it is; NULL for the external tracker. A delivery is behind if ten of the same actor already waited for the
-- endpoint: those of other actors are sent first.
ALTER TABLE "webhook_deliveries"
    ADD COLUMN "actor_id" UUID,
    ADD COLUMN "is_behind" BOOLEAN NOT NULL DEFAULT false;
DROP INDEX "webhook_deliveries_due_idx";
CREATE INDEX "webhook_deliveries_due_idx" ON "webhook_deliveries" ("endpoint_id", "is_behind", "next_attempt_at")
    WHERE "state" = 'pending';
CREATE INDEX "webhook_deliveries_actor_idx" ON "webhook_deliveries" ("endpoint_id", "actor_id") WHERE "state" = 'pending';
