-- The place in identity's feed of events up to which the mirror is current: one row, which all replicas share.
CREATE TABLE "mirror_feed" (
    "id" SMALLINT NOT NULL DEFAULT 1,
    "cursor" TEXT,
    "read_at" TIMESTAMPTZ(3),
    "next_read_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "mirror_feed_pkey" PRIMARY KEY ("id")
);

ALTER TABLE "mirror_feed"
    ADD CONSTRAINT "mirror_feed_one_row_check" CHECK (id = 1),
    ADD CONSTRAINT "mirror_feed_read_check" CHECK ((cursor IS NULL) = (read_at IS NULL));

INSERT INTO "mirror_feed" DEFAULT VALUES;
