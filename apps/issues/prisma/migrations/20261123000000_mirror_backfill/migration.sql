-- AlterTable
ALTER TABLE "identity_mirror" ADD COLUMN "display_name" TEXT;

-- The progress of the copy of all identities into the mirror: one row, which all replicas share.
CREATE TABLE "mirror_backfill" (
    "id" SMALLINT NOT NULL DEFAULT 1,
    "after" UUID,
    "pass_started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "pass_finished_at" TIMESTAMPTZ(3),
    "next_attempt_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "claim_id" UUID,
    "claim_until" TIMESTAMPTZ(3),

    CONSTRAINT "mirror_backfill_pkey" PRIMARY KEY ("id")
);

ALTER TABLE "mirror_backfill"
    ADD CONSTRAINT "mirror_backfill_one_row_check" CHECK (id = 1),
    ADD CONSTRAINT "mirror_backfill_claim_check" CHECK ((claim_id IS NULL) = (claim_until IS NULL));

INSERT INTO "mirror_backfill" DEFAULT VALUES;
