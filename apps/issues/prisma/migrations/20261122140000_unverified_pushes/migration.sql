-- An update of a remote issue until its effect is compared with the tracker's history, also after a crash.
ALTER TABLE "tracker_links" ADD COLUMN "unverified_push" JSONB;
