-- A Redmine on SQLite uses the numbers of deleted issues again: an issue is known by its number and its creation time.
ALTER TABLE tracker_links
    ADD COLUMN remote_since timestamptz(3),
    ADD COLUMN create_refused_at timestamptz(3);
UPDATE tracker_links SET remote_since = remote_created_at WHERE remote_created_at IS NOT NULL;
