-- The latest end of sessions of an identity, as identity's events tell it. A sign-in or a stream that began before it may belong to
-- a session that has ended. The generation increases with each end over all identities, so that it can be read before the identity
-- is known.
CREATE TABLE "session_ends" (
    "identity_id" UUID NOT NULL,
    "generation" BIGSERIAL NOT NULL,
    -- That of the latest end of all sessions; 0 without one.
    "all_generation" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "session_ends_pkey" PRIMARY KEY ("identity_id")
);
CREATE INDEX "session_ends_generation_idx" ON "session_ends" ("generation");

-- Counts these ends for a session, so that a refresh that began earlier does not make its access token valid again.
ALTER TABLE "web_sessions" ADD COLUMN "ends" INTEGER NOT NULL DEFAULT 0;
