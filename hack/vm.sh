#!/usr/bin/env bash
# `npm run test:vm`: sets up, and runs tests that need another kernel in a virtual machine. Arguments go to
# test/vm/main.ts. `npm run test:vm -- package` tests the Debian package of dist/release under systemd instead.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

hack/setup.sh --test
if [ "${1:-}" = package ]; then exec "$bun" test/vm/package.ts; fi
exec "$bun" test/vm/main.ts "$@"
