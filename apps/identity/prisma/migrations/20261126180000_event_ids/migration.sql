-- A failover that loses the last events would give their ids again. So each timeline of the database has ids of its own; those
-- of the first stay as they are. No failover loses 2^30 events.
ALTER TABLE "events" ALTER COLUMN "id" SET DEFAULT nextval('events_id_seq'::regclass)
    + ((('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint - 1) << 30);
