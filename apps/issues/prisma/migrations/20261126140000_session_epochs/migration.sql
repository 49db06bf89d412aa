-- How often all sessions of an identity have ended, as its events tell it. Access tokens of a lower epoch are refused.
ALTER TABLE "session_ends" ADD COLUMN "session_epoch" INTEGER NOT NULL DEFAULT 0;
-- No release has read it: the epoch tells exactly which tokens have ended.
ALTER TABLE "session_ends" DROP COLUMN "all_generation";
