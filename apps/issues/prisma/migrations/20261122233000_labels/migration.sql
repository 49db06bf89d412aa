CREATE TABLE "labels" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "color" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "labels_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "labels_key_key" ON "labels"("key");
ALTER TABLE "labels"
    ADD CONSTRAINT "labels_name_check" CHECK (char_length(name) BETWEEN 1 AND 50),
    ADD CONSTRAINT "labels_color_check" CHECK (color ~ '^#[0-9a-f]{6}$');

-- A label that many issues have is renamed and deleted without writing these issues: an issue has the ids of its labels,
-- and an id whose label was deleted counts as none. Ids are never used again.
ALTER TABLE "issues" ADD COLUMN "label_ids" UUID[] DEFAULT ARRAY[]::UUID[];
ALTER TABLE "issues"
    ADD CONSTRAINT "issues_label_ids_check" CHECK (label_ids IS NOT NULL AND cardinality(label_ids) <= 20);

-- Without a list of pending entries, because an issue has few labels. Most issues have none.
CREATE INDEX "issues_labels_idx" ON "issues" USING gin ("label_ids") WITH (fastupdate = off) WHERE label_ids <> '{}';

-- One row, which says whether labels have changed: a cached text of an issue with labels is used as long as `rev` is the
-- same. Writers of labels lock it first.
CREATE TABLE "label_catalog" (
    "id" BOOLEAN NOT NULL DEFAULT true,
    "rev" INTEGER NOT NULL DEFAULT 1,

    CONSTRAINT "label_catalog_pkey" PRIMARY KEY ("id")
);
ALTER TABLE "label_catalog" ADD CONSTRAINT "label_catalog_one_row_check" CHECK (id);
INSERT INTO "label_catalog" DEFAULT VALUES;

CREATE FUNCTION increase_label_rev() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE label_catalog SET rev = rev + 1;
    RETURN NULL;
END
$$;
-- No issue has a label that was just created.
CREATE TRIGGER labels_rev AFTER UPDATE OR DELETE OR TRUNCATE ON "labels"
    FOR EACH STATEMENT EXECUTE FUNCTION increase_label_rev();
