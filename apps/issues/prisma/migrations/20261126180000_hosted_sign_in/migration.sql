-- A session that began on identity's pages belongs to an OAuth client, which refreshes and revokes its tokens. Columns without a
-- default, so no row is rewritten. The ID token is sealed like the other tokens; a sign-out at identity shows it.
ALTER TABLE "web_sessions"
    ADD COLUMN "client_id" UUID,
    ADD COLUMN "sso_session_id" TEXT,
    ADD COLUMN "id_token" BYTEA;
CREATE INDEX "web_sessions_sso_session_idx" ON "web_sessions" ("sso_session_id") WHERE sso_session_id IS NOT NULL;

-- The client of the web app at an issuer, which the service registers itself. One process at a time may register or repair it.
CREATE TABLE "oauth_client" (
    "issuer" TEXT NOT NULL,
    "client_id" UUID,
    -- Sealed with a key of SESSION_KEYS.
    "secret" BYTEA,
    -- What was registered: a change is registered again.
    "registration" TEXT,
    "generation" INTEGER NOT NULL DEFAULT 0,
    "claimed_until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "oauth_client_pkey" PRIMARY KEY ("issuer")
);
