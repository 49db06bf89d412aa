-- For lists of the deliveries of an endpoint in one state.
CREATE INDEX "webhook_deliveries_state_idx" ON "webhook_deliveries" ("endpoint_id", "state", "id");
