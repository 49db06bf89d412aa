-- The service composes the events, in the statement that writes the history.
DROP TRIGGER activity_events ON "activity";
DROP FUNCTION record_issue_events();
DROP TRIGGER tracker_links_events ON "tracker_links";
DROP FUNCTION record_synced_event();

-- The service compares the mentions of the new text with those that it has read.
DROP TRIGGER issues_added_mentions ON "issues";
DROP TRIGGER comments_added_mentions ON "comments";
DROP FUNCTION set_added_mentions();
ALTER TABLE "issues" DROP COLUMN "added_mention_ids";
ALTER TABLE "comments" DROP COLUMN "added_mention_ids";
