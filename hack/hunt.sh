#!/usr/bin/env bash
# `npm run hunt -- --seeds 1000 --from 1 --jobs 2`: random work and random faults in clusters in memory; test/hunt/main.ts says more.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

hack/setup.sh --npm-only
exec "$bun" test/hunt/main.ts "$@"
