-- The audit trail is read newest first, within one identity, one type, the failures, or all of it. Failures are few, and
-- so are the rows of their index; the outcome that nearly every event has needs none.
DROP INDEX "audit_events_identity_idx";
DROP INDEX "audit_events_at_idx";

-- CreateIndex
CREATE INDEX "audit_events_at_idx" ON "audit_events"("at", "id");

-- CreateIndex
CREATE INDEX "audit_events_identity_idx" ON "audit_events"("identity_id", "at", "id");

-- CreateIndex
CREATE INDEX "audit_events_type_idx" ON "audit_events"("type", "at", "id");

-- CreateIndex
CREATE INDEX "audit_events_failure_idx" ON "audit_events"("at", "id") WHERE (outcome = 'failure');
