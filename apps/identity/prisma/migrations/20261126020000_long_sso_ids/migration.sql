-- An sso_id has up to 1,024 characters, which are up to 3,072 bytes. A row of a B-tree has at most 2,704 bytes.
CREATE FUNCTION sso_digest(sso_id text) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS 'SELECT sha256(convert_to(sso_id, ''UTF8''))';

DROP INDEX "identities_live_sso_key";
CREATE UNIQUE INDEX "identities_live_sso_key" ON "identities" ("sso_provider", sso_digest("sso_id"))
    WHERE (deleted_at IS NULL AND sso_id IS NOT NULL);
CREATE INDEX "identities_live_sso_idx" ON "identities" USING hash ("sso_id")
    WHERE (deleted_at IS NULL AND sso_id IS NOT NULL);
