#!/usr/bin/env bash
# `npm test`: sets up, builds, and runs every test; `npm test -- PATH…` only those under the paths. hack/test/main.ts
# says more. The last line is always `N passed, N failed`, with `, N skipped` where some were.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

can_install() { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }

set_up=--test
if ! can_install; then
  printf '!!! Not root and no sudo without a password: no Debian package is installed, and tests that need one are skipped.\n'
  set_up=--npm-only
fi
if ! hack/setup.sh "$set_up"; then
  failed=1
  if [ -n "${K3TS_FAILED_BEFORE:-}" ]; then failed=2; fi
  printf 'FAILED: the set-up\n0 passed, %d failed\n' "$failed"
  exit 1
fi
exec "$bun" hack/test/main.ts "$@"
