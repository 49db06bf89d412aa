-- AlterTable
ALTER TABLE "tracker_states" ADD COLUMN "limited_until" TIMESTAMPTZ(3);
