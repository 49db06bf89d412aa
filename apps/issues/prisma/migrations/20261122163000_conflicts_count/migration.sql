-- A list shows how many conflicts an issue has, and must not read their texts to count them.
ALTER TABLE "tracker_links"
    ADD COLUMN "conflicts_count" INTEGER GENERATED ALWAYS AS (jsonb_array_length("conflicts")) STORED;
