-- The sessions of the web app. The browser has 32 random bytes in a cookie; the row has their SHA-256, so that a copy of the table
-- signs no one in. The tokens are sealed with a key that is not in the database.
CREATE TABLE "web_sessions" (
    "id_hash" BYTEA NOT NULL,
    "identity_id" UUID NOT NULL,
    "identity_session_id" UUID,
    "access_token" BYTEA NOT NULL,
    "refresh_token" BYTEA NOT NULL,
    "access_expires_at" TIMESTAMPTZ(3) NOT NULL,
    "refresh_at" TIMESTAMPTZ(3) NOT NULL,
    "refreshing_until" TIMESTAMPTZ(3),
    "generation" INTEGER NOT NULL DEFAULT 1,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "address" VARCHAR(64) NOT NULL,
    "user_agent" VARCHAR(400),
    "revoke_pending" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "web_sessions_pkey" PRIMARY KEY ("id_hash")
);

CREATE INDEX "web_sessions_identity_idx" ON "web_sessions" ("identity_id", "created_at");
CREATE INDEX "web_sessions_expires_idx" ON "web_sessions" ("expires_at");
CREATE INDEX "web_sessions_pending_idx" ON "web_sessions" ("created_at") WHERE revoke_pending;
