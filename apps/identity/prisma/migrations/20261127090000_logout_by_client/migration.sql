-- Each client has a share of the senders, so a process looks for what is due by client.
CREATE INDEX "logout_deliveries_client_idx" ON "logout_deliveries"("client_id", "next_attempt_at");
DROP INDEX "logout_deliveries_due_idx";
