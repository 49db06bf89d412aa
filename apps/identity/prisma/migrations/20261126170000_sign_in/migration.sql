-- The applications that sign people in, and machines. A client is never deleted, so that the audit trail and the tokens of a
-- disabled one can be explained. Secrets are random, so SHA-256 without salt is enough.
CREATE TABLE "oauth_clients" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "secret_hash" BYTEA,
    "previous_secret_hash" BYTEA,
    "previous_secret_expires_at" TIMESTAMPTZ(3),
    "jwks" JSONB,
    "redirect_uris" TEXT[],
    "post_logout_redirect_uris" TEXT[],
    "backchannel_logout_uri" TEXT,
    "scopes" TEXT[],
    "audiences" TEXT[],
    "require_pkce" BOOLEAN NOT NULL DEFAULT true,
    "is_first_party" BOOLEAN NOT NULL DEFAULT true,
    "identity_id" UUID,
    "last_refusal" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "disabled_at" TIMESTAMPTZ(3),

    CONSTRAINT "oauth_clients_pkey" PRIMARY KEY ("id")
);
ALTER TABLE "oauth_clients"
    ADD CONSTRAINT "oauth_clients_kind_check" CHECK (kind IN ('confidential', 'public', 'machine')),
    -- RFC 9700 2.1.1: a client without a secret always has a code challenge.
    ADD CONSTRAINT "oauth_clients_pkce_check" CHECK (require_pkce OR kind = 'confidential'),
    ADD CONSTRAINT "oauth_clients_machine_check" CHECK ((kind = 'machine') = (identity_id IS NOT NULL));

-- The sign-in of a browser, for all clients. It is valid while its epoch is that of the identity.
CREATE TABLE "sso_sessions" (
    "id" UUID NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "identity_id" UUID NOT NULL,
    "session_epoch" INTEGER NOT NULL,
    "auth_time" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "amr" TEXT[],
    "acr" TEXT NOT NULL,
    "upstream" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_used_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "idle_expires_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3),
    "created_ip" TEXT,
    "user_agent" TEXT,

    CONSTRAINT "sso_sessions_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "sso_sessions_token_key" ON "sso_sessions"("token_hash");
CREATE INDEX "sso_sessions_live_idx" ON "sso_sessions"("identity_id", "created_at") WHERE (ended_at IS NULL);
CREATE INDEX "sso_sessions_expiry_idx" ON "sso_sessions"("expires_at");

-- A used code stays until it is deleted, so that its second use is detected.
CREATE TABLE "authorization_codes" (
    "code_hash" BYTEA NOT NULL,
    "client_id" UUID NOT NULL,
    "identity_id" UUID NOT NULL,
    "session_epoch" INTEGER NOT NULL,
    "sso_session_id" UUID NOT NULL,
    "redirect_uri" TEXT NOT NULL,
    "code_challenge" TEXT,
    "nonce" TEXT,
    "scope" TEXT[],
    "resource" TEXT,
    "auth_time" TIMESTAMPTZ(3) NOT NULL,
    "amr" TEXT[],
    "acr" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "used_at" TIMESTAMPTZ(3),
    "family_id" UUID,

    CONSTRAINT "authorization_codes_pkey" PRIMARY KEY ("code_hash")
);
CREATE INDEX "authorization_codes_identity_idx" ON "authorization_codes"("identity_id", "expires_at");
CREATE INDEX "authorization_codes_expiry_idx" ON "authorization_codes"("expires_at");

-- What a person has allowed a client that is not of this organisation.
CREATE TABLE "consents" (
    "identity_id" UUID NOT NULL,
    "client_id" UUID NOT NULL,
    "scope" TEXT[],
    "granted_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "consents_pkey" PRIMARY KEY ("identity_id", "client_id")
);

-- The assertions of private_key_jwt that were used and have not expired.
CREATE TABLE "client_assertions" (
    "client_id" UUID NOT NULL,
    "jti_hash" BYTEA NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "client_assertions_pkey" PRIMARY KEY ("client_id", "jti_hash")
);
CREATE INDEX "client_assertions_expiry_idx" ON "client_assertions"("expires_at");

-- A null client means the password grant. Columns without a default, so no row is rewritten.
ALTER TABLE "token_families"
    ADD COLUMN "client_id" UUID,
    ADD COLUMN "sso_session_id" UUID,
    ADD COLUMN "scope" TEXT[],
    ADD COLUMN "resource" TEXT,
    ADD COLUMN "auth_time" TIMESTAMPTZ(3),
    ADD COLUMN "amr" TEXT[],
    ADD COLUMN "acr" TEXT;
CREATE INDEX "token_families_sso_session_idx" ON "token_families"("sso_session_id") WHERE (sso_session_id IS NOT NULL);

-- The logout tokens that are not delivered yet: the outbox of OpenID Connect Back-Channel Logout.
CREATE TABLE "logout_deliveries" (
    "id" BIGSERIAL NOT NULL,
    "client_id" UUID NOT NULL,
    "identity_id" UUID NOT NULL,
    -- Null: all sessions of the person have ended.
    "sid" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "next_attempt_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "attempts" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "logout_deliveries_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "logout_deliveries_due_idx" ON "logout_deliveries"("next_attempt_at");

ALTER TABLE "oauth_clients" ADD CONSTRAINT "oauth_clients_identity_id_fkey" FOREIGN KEY ("identity_id") REFERENCES "identities"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "sso_sessions" ADD CONSTRAINT "sso_sessions_identity_id_fkey" FOREIGN KEY ("identity_id") REFERENCES "identities"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "consents" ADD CONSTRAINT "consents_identity_id_fkey" FOREIGN KEY ("identity_id") REFERENCES "identities"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "consents" ADD CONSTRAINT "consents_client_id_fkey" FOREIGN KEY ("client_id") REFERENCES "oauth_clients"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- Written in the statement that ends the sessions, so a new writer cannot forget it. A person who has signed in to no client
-- causes no row.
CREATE FUNCTION record_logout_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO logout_deliveries (client_id, identity_id)
    SELECT DISTINCT c.id, NEW.id
      FROM token_families f JOIN oauth_clients c ON c.id = f.client_id
     WHERE f.identity_id = NEW.id AND f.session_epoch = OLD.session_epoch AND f.revoked_at IS NULL AND f.expires_at > now()
       AND c.backchannel_logout_uri IS NOT NULL AND c.disabled_at IS NULL;
    RETURN NULL;
END
$$;
CREATE TRIGGER identities_logout AFTER UPDATE OF "session_epoch" ON "identities" FOR EACH ROW
    WHEN (NEW.session_epoch <> OLD.session_epoch) EXECUTE FUNCTION record_logout_deliveries();
