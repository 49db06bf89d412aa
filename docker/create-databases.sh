#!/bin/sh
# Run by the postgres image when its volume is empty: for each service a database, the role that owns and migrates it,
# and the role that the service runs under, which owns nothing. These alone may connect to it.
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
