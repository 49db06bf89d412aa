#!/usr/bin/env bash
# Installs Debian's Redmine, for the tests against a real one (*.redmine.test.ts) and the benchmark. Needs root; does nothing where it
# is installed already. dbconfig-common makes an SQLite database, migrates it and loads the default data.
set -euo pipefail
if dpkg -s redmine puma >/dev/null 2>&1; then exit 0; fi
export DEBIAN_FRONTEND=noninteractive
# A database that an earlier, removed installation left behind would be taken for this one's.
rm -rf /var/lib/dbconfig-common/sqlite3/redmine
apt-get update -qq
apt-get install -y -qq --no-install-recommends redmine redmine-sqlite puma >/dev/null
