-- A refused token of an ended session is recorded once per family. Without a default, so no row is rewritten.
ALTER TABLE "token_families" ADD COLUMN "refused_at" TIMESTAMPTZ(3);
