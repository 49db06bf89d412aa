#!/usr/bin/env bash
# Installs Debian's nginx and PgBouncer for the tests behind them (*.proxies.test.ts). Needs root. Does nothing if they are
# already installed.
set -euo pipefail
if dpkg -s nginx pgbouncer >/dev/null 2>&1; then exit 0; fi
export DEBIAN_FRONTEND=noninteractive
# The tests start both with ports of their own. Without this policy, the packages would start them as services.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi
apt-get update -qq
apt-get install -y -qq --no-install-recommends nginx pgbouncer >/dev/null
