-- An sso_id has up to 3,072 bytes. A row of a B-tree has at most 2,704 bytes.
DROP INDEX "identity_mirror_sso_idx";
CREATE INDEX "identity_mirror_sso_idx" ON "identity_mirror" USING hash ("sso_id");
