-- The one of the two issues that the person who related them was not allowed to change. Such relations have a bound of their own, so
-- that they leave room for the people of the issue. Of the relations before this column, none counts in it.
ALTER TABLE "issue_relations" ADD COLUMN "guest_of" UUID;
