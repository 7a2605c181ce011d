#!/usr/bin/env bash
# `npm run test:ecosystem`: sets up, builds, and runs what people install on k3ts, unmodified. Arguments go to
# test/ecosystem/main.ts, which says more.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

hack/setup.sh --ecosystem
hack/build.sh
exec "$bun" test/ecosystem/main.ts "$@"
