#!/usr/bin/env bash
# `npm run test:release`: makes a release, and tests its files in the programs, on the processors and on a node that they
# are for; and compares the types of the npm package with those of the sources. Arguments are the tests to run, by
# default all. Those on bare Debian roots keep them in K3TS_RELEASE_CACHE, by default ~/.cache/k3ts-release.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

hack/setup.sh --release
hack/release.sh --allow-dirty

tests=("$@")
if [ $# = 0 ]; then
  tests=(./test/package/*.release.ts ./test/release/*.release.ts ./test/e2e/readme/walkthrough.test.ts)
fi
# The node is one of the released executable.
export K3TS_TEST_EXECUTABLE=$root/dist/release/k3ts-linux-$(dpkg --print-architecture)
exec "$bun" test --timeout 300000 "${tests[@]}"
