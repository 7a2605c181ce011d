#!/usr/bin/env bash
# `npm run bench`: sets up, builds and measures. Arguments go to test/bench/main.ts.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

hack/setup.sh --test --bench
hack/build.sh
exec "$bun" test/bench/main.ts "$@"
