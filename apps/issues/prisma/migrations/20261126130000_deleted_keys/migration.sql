-- The ids of identity's deleted signing keys, which all replicas refuse.
ALTER TABLE "mirror_feed" ADD COLUMN "deleted_keys" TEXT[] DEFAULT ARRAY[]::TEXT[];
