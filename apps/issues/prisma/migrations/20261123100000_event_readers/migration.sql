-- The places up to which the readers of this service have processed the events.
CREATE TABLE "event_readers" (
    "name" TEXT NOT NULL,
    "tx" BIGINT NOT NULL,
    "event_id" BIGINT NOT NULL,

    CONSTRAINT "event_readers_pkey" PRIMARY KEY ("name")
);
