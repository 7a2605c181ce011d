#!/usr/bin/env bash
# `npm run bombs -- --kind Pod`: the largest objects that the server takes, for each field of each kind;
# test/attacks/bombs/main.ts says more.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

hack/setup.sh --npm-only
exec "$bun" test/attacks/bombs/main.ts "$@"
