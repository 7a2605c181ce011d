#!/usr/bin/env bash
# `npm run test:release`: tests what a release consists of in the programs that it is for, which are fetched from the npm
# registry; and compares the types of the npm package with those of the sources. Arguments go to `bun test`.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

hack/setup.sh --npm-only
exec "$bun" test --timeout 300000 "$@" ./test/package/kinds.release.ts ./test/package/runners.release.ts
