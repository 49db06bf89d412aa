-- The session epoch alone ends sessions.
ALTER TABLE identities DROP COLUMN sessions_valid_after;
