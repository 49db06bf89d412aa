-- AlterTable
ALTER TABLE "identities" ADD COLUMN "display_name" TEXT;

CREATE INDEX "identities_username_idx" ON "identities" (lower(username));

-- The wanted username, or the lowest number after it that is found free: bob, bob-2, bob-3. Usernames of deleted
-- identities are not free: histories show them. The search doubles and then halves its steps, so that the ten thousandth
-- bob is found as fast as the tenth. The lock ends with the transaction: of two creations that choose the same username,
-- the second one waits, sees the row of the first and chooses the next number.
CREATE FUNCTION free_username(wanted text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    first integer := 1;
    last integer := 1;
    middle integer;
    candidate text;
BEGIN
    LOOP
        WHILE EXISTS (SELECT FROM identities WHERE lower(username) = lower(numbered_username(wanted, last))) LOOP
            first := last + 1;
            last := last * 2;
        END LOOP;
        WHILE first < last LOOP
            middle := (first + last) / 2;
            IF EXISTS (SELECT FROM identities WHERE lower(username) = lower(numbered_username(wanted, middle))) THEN
                first := middle + 1;
            ELSE
                last := middle;
            END IF;
        END LOOP;
        candidate := numbered_username(wanted, last);
        PERFORM pg_advisory_xact_lock(hashtextextended('username ' || lower(candidate), 0));
        EXIT WHEN NOT EXISTS (SELECT FROM identities WHERE lower(username) = lower(candidate));
    END LOOP;
    RETURN candidate;
END
$$;

CREATE FUNCTION numbered_username(wanted text, number integer) RETURNS text LANGUAGE sql IMMUTABLE
    AS 'SELECT CASE number WHEN 1 THEN wanted ELSE wanted || ''-'' || number END';
