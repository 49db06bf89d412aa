-- The people that the description of an issue and the text of a comment mention, as resolved when the text was written.
ALTER TABLE "issues" ADD COLUMN "mention_ids" UUID[] DEFAULT ARRAY[]::UUID[];
ALTER TABLE "issues"
    ADD CONSTRAINT "issues_mention_ids_check" CHECK (mention_ids IS NOT NULL AND cardinality(mention_ids) <= 20);
ALTER TABLE "comments" ADD COLUMN "mention_ids" UUID[] DEFAULT ARRAY[]::UUID[];
ALTER TABLE "comments"
    ADD CONSTRAINT "comments_mention_ids_check" CHECK (mention_ids IS NOT NULL AND cardinality(mention_ids) <= 20);

-- People are mentioned by username, ignoring case.
CREATE INDEX "identity_mirror_username_idx" ON "identity_mirror" (lower("username"));
