#!/usr/bin/env bash
# Installs Debian's applications that sign in by OpenID Connect, for relying-parties.test.ts, and the module that
# docs/python-backend.md needs. Needs root. Does nothing if they are already installed.
set -euo pipefail
packages=(apache2 libapache2-mod-auth-openidc python3-authlib python3-flask python3-jwt python3-requests golang-go golang-github-coreos-go-oidc-dev)
if dpkg -s "${packages[@]}" >/dev/null 2>&1; then exit 0; fi
export DEBIAN_FRONTEND=noninteractive
# The tests start Apache with a port of their own. Without this policy, the package would start it as a service.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
