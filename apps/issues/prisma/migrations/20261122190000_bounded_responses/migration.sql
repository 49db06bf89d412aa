-- The issue or comment of a stored response. A replay shows it as it is then, so the row does not contain it.
ALTER TABLE "idempotency_keys" ADD COLUMN "resource_id" UUID;
