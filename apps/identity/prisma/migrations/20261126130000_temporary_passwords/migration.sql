-- Null: the password of the person. Otherwise a temporary one, which is only for choosing another, until then.
ALTER TABLE "identities" ADD COLUMN "password_expires_at" TIMESTAMPTZ(3);
