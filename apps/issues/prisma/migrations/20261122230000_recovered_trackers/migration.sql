-- When the tracker last answered, and when it did so after an outage.
ALTER TABLE "tracker_states" ADD COLUMN "answered_at" TIMESTAMPTZ(3),
ADD COLUMN "recovered_at" TIMESTAMPTZ(3);
