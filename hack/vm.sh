#!/usr/bin/env bash
# `npm run test:vm`: sets up, and runs tests that need another kernel, or systemd, in a virtual machine. Arguments go to
# test/vm/main.ts.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

hack/setup.sh --vm
exec "$bun" test/vm/main.ts "$@"
