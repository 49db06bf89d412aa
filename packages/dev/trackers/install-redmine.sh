#!/usr/bin/env bash
# Installs Debian's Redmine for the benchmark and for the tests against a real Redmine (*.redmine.test.ts). Needs root.
# Does nothing if it is already installed. dbconfig-common creates an SQLite database, migrates it and loads the default
# data.
set -euo pipefail
if dpkg -s redmine puma >/dev/null 2>&1; then exit 0; fi
export DEBIAN_FRONTEND=noninteractive
# dbconfig-common would reuse a database that a removed installation left behind.
rm -rf /var/lib/dbconfig-common/sqlite3/redmine
apt-get update -qq
apt-get install -y -qq --no-install-recommends redmine redmine-sqlite puma >/dev/null
