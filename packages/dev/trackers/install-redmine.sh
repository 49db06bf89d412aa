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
# Debian's security update of Ruby (3.1.7) contains a newer Bundler than the package ruby-bundler. RubyGems prefers the newer one,
# which does not find Debian's gems, and the installation of Redmine fails.
BUNDLER_VERSION=$(apt-cache show ruby-bundler | sed -n 's/^Version: \([0-9.]*\).*/\1/p' | head -n 1)
export BUNDLER_VERSION
apt-get install -y -qq --no-install-recommends redmine redmine-sqlite puma >/dev/null
