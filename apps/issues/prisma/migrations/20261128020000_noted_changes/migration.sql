-- What a notification is about: names of changed members, and the status before and after. Earlier rows have none.
ALTER TABLE "notifications" ADD COLUMN "changes" JSONB;
ALTER TABLE "deferred_notifications" ADD COLUMN "changes" JSONB;
