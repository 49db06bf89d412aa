-- CreateTable
CREATE TABLE "identities" (
    "id" UUID NOT NULL,
    "email" TEXT NOT NULL,
    "email_canonical" TEXT NOT NULL,
    "username" TEXT NOT NULL,
    "password_hash" TEXT,
    "sso_provider" TEXT,
    "sso_id" TEXT,
    "is_active" BOOLEAN NOT NULL DEFAULT true,
    "is_verified" BOOLEAN NOT NULL DEFAULT false,
    "is_staff" BOOLEAN NOT NULL DEFAULT false,
    "is_superuser" BOOLEAN NOT NULL DEFAULT false,
    "session_epoch" INTEGER NOT NULL DEFAULT 0,
    "sessions_valid_after" TIMESTAMPTZ(3),
    "deleted_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "identities_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "token_families" (
    "id" UUID NOT NULL,
    "identity_id" UUID NOT NULL,
    "session_epoch" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "last_used_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "revoked_at" TIMESTAMPTZ(3),
    "revoke_reason" TEXT,
    "suspect_at" TIMESTAMPTZ(3),
    "created_ip" TEXT,
    "user_agent" TEXT,

    CONSTRAINT "token_families_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "refresh_tokens" (
    "jti" UUID NOT NULL,
    "family_id" UUID NOT NULL,
    "generation" INTEGER NOT NULL,
    "issued_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "revoked_at" TIMESTAMPTZ(6),
    "replaced_by" UUID,

    CONSTRAINT "refresh_tokens_pkey" PRIMARY KEY ("jti")
);

-- CreateTable
CREATE TABLE "sign_in_counters" (
    "key" TEXT NOT NULL,
    "count" INTEGER NOT NULL,
    "window_ends" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "sign_in_counters_pkey" PRIMARY KEY ("key")
);

-- CreateTable
CREATE TABLE "audit_events" (
    "id" BIGSERIAL NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "type" TEXT NOT NULL,
    "outcome" TEXT NOT NULL,
    "identity_id" UUID,
    "actor" TEXT NOT NULL,
    "ip" TEXT,
    "user_agent" TEXT,
    "request_id" TEXT,
    "details" JSONB NOT NULL DEFAULT '{}',

    CONSTRAINT "audit_events_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "identities_live_email_key" ON "identities"("email_canonical") WHERE (deleted_at IS NULL);

-- CreateIndex
CREATE UNIQUE INDEX "identities_live_sso_key" ON "identities"("sso_provider", "sso_id") WHERE (deleted_at IS NULL AND sso_id IS NOT NULL);

-- CreateIndex
CREATE INDEX "token_families_identity_idx" ON "token_families"("identity_id");

-- CreateIndex
CREATE INDEX "token_families_suspect_idx" ON "token_families"("identity_id") WHERE (suspect_at IS NOT NULL AND revoked_at IS NULL);

-- CreateIndex
CREATE INDEX "refresh_tokens_family_idx" ON "refresh_tokens"("family_id");

-- CreateIndex
CREATE INDEX "refresh_tokens_expiry_idx" ON "refresh_tokens"("expires_at");

-- CreateIndex
CREATE INDEX "sign_in_counters_window_idx" ON "sign_in_counters"("window_ends");

-- CreateIndex
CREATE INDEX "audit_events_identity_idx" ON "audit_events"("identity_id", "id");

-- CreateIndex
CREATE INDEX "audit_events_at_idx" ON "audit_events"("at");

-- AddForeignKey
ALTER TABLE "token_families" ADD CONSTRAINT "token_families_identity_id_fkey" FOREIGN KEY ("identity_id") REFERENCES "identities"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "refresh_tokens" ADD CONSTRAINT "refresh_tokens_family_id_fkey" FOREIGN KEY ("family_id") REFERENCES "token_families"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What Prisma's schema language has no words for.
ALTER TABLE "identities"
    ADD CONSTRAINT "identities_sso_pair_check" CHECK ((sso_provider IS NULL) = (sso_id IS NULL)),
    ADD CONSTRAINT "identities_deleted_inactive_check" CHECK (deleted_at IS NULL OR NOT is_active);

-- Counters are worth nothing after a crash, and need no write-ahead log.
ALTER TABLE "sign_in_counters" SET UNLOGGED;

-- The audit trail is append-only for every role.
CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit_events is append-only';
END
$$;

CREATE TRIGGER audit_events_append_only
    BEFORE UPDATE OR DELETE OR TRUNCATE ON "audit_events"
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();
