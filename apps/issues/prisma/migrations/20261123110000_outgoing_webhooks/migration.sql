-- Endpoints of other systems, to which the service sends its events.
CREATE TABLE "webhook_endpoints" (
    "id" UUID NOT NULL,
    "url" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    -- The types of events to send; empty for all.
    "types" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "is_enabled" BOOLEAN NOT NULL DEFAULT true,
    -- Signs the requests, so it cannot be a hash. After a rotation both secrets sign for a time.
    "secret" TEXT NOT NULL,
    "previous_secret" TEXT,
    "previous_secret_until" TIMESTAMPTZ(3),
    -- Why and when the service disabled the endpoint; null while it is enabled, and if a person disabled it.
    "disabled_reason" TEXT,
    "disabled_at" TIMESTAMPTZ(3),
    -- The first failed attempt since the last successful one.
    "failing_since" TIMESTAMPTZ(3),
    "created_by" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),

    CONSTRAINT "webhook_endpoints_pkey" PRIMARY KEY ("id")
);

-- One row for each event and endpoint. It has a copy of the event, so that it can be sent again after the event is deleted.
CREATE TABLE "webhook_deliveries" (
    "id" BIGSERIAL NOT NULL,
    "endpoint_id" UUID NOT NULL,
    -- Null for a test.
    "event_id" BIGINT,
    "type" TEXT NOT NULL,
    "subject_id" UUID NOT NULL,
    "data" JSONB NOT NULL,
    "event_at" TIMESTAMPTZ(3) NOT NULL,
    -- pending, delivered or failed.
    "state" TEXT NOT NULL DEFAULT 'pending',
    "attempts" INTEGER NOT NULL DEFAULT 0,
    -- The number of attempts before the last request to send it again. The schedule counts from there.
    "earlier_attempts" INTEGER NOT NULL DEFAULT 0,
    "next_attempt_at" TIMESTAMPTZ(3) DEFAULT clock_timestamp(),
    -- The lease of the process that is sending it.
    "claim_id" UUID,
    "claim_until" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "webhook_deliveries_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "webhook_deliveries_endpoint_id_fkey" FOREIGN KEY ("endpoint_id") REFERENCES "webhook_endpoints" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "webhook_deliveries_event_key" ON "webhook_deliveries" ("endpoint_id", "event_id");
CREATE INDEX "webhook_deliveries_list_idx" ON "webhook_deliveries" ("endpoint_id", "id");
CREATE INDEX "webhook_deliveries_due_idx" ON "webhook_deliveries" ("endpoint_id", "next_attempt_at") WHERE "state" = 'pending';
CREATE INDEX "webhook_deliveries_claim_idx" ON "webhook_deliveries" ("endpoint_id") WHERE "claim_id" IS NOT NULL;
-- For the cleanup.
CREATE INDEX "webhook_deliveries_created_at_idx" ON "webhook_deliveries" ("created_at");

CREATE TABLE "webhook_attempts" (
    "delivery_id" BIGINT NOT NULL,
    "number" INTEGER NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "duration_ms" INTEGER NOT NULL,
    -- Null without a response.
    "status" INTEGER,
    -- Null after a success.
    "error" TEXT,
    -- The first 2 kB of the response.
    "answer" TEXT,

    CONSTRAINT "webhook_attempts_pkey" PRIMARY KEY ("delivery_id", "number"),
    CONSTRAINT "webhook_attempts_delivery_id_fkey" FOREIGN KEY ("delivery_id") REFERENCES "webhook_deliveries" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- Deliveries begin with the events after this migration.
INSERT INTO "event_readers" ("name", "tx", "event_id")
VALUES ('webhooks', pg_current_xact_id()::text::bigint, 0);
