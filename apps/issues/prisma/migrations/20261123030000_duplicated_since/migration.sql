-- The creation time of a remote issue that a poll found with the marker of this issue, which has another remote issue.
ALTER TABLE tracker_links ADD COLUMN duplicated_since timestamptz(3);
