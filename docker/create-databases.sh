#!/bin/sh
# The postgres image runs this if its volume is empty. Creates for each service a database, its owner, which migrates,
# and the role of the service, which owns nothing. Only these two roles may connect.
set -eu

secrets=/run/secrets/tessera

create() {
  psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres \
    --set service="$1" --set owner="$1_owner" \
    --set password="$(cat "$secrets/$1-password")" --set owner_password="$(cat "$secrets/$1_owner-password")" <<'SQL'
CREATE ROLE :"owner" LOGIN PASSWORD :'owner_password';
CREATE ROLE :"service" LOGIN PASSWORD :'password';
CREATE DATABASE :"service" OWNER :"owner";
REVOKE ALL ON DATABASE :"service" FROM PUBLIC;
GRANT CONNECT ON DATABASE :"service" TO :"service";
SQL
}

create identity
create issues
