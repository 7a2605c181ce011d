#!/usr/bin/env bash
# `npm run conformance`: sets up, builds, and runs the tests that stand for entries of Kubernetes' conformance list.
# Words name a part of them: `npm run conformance -- sig-storage`; test/conformance/ledger/main.ts says more.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

if [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; then hack/setup.sh --test; else hack/setup.sh --npm-only; fi
hack/build.sh
exec "$bun" test/conformance/ledger/main.ts "$@"
