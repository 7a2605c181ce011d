#!/usr/bin/env bash
# `npm run package`: makes the npm package in dist/npm: its files in the folder `package`, the
# list of its API, and its archive. With `-- --write-api` that list becomes docs/api.txt.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

hack/setup.sh --npm-only
source hack/identity.sh

export K3TS_VERSION=$version K3TS_GIT_COMMIT=$commit K3TS_GIT_TREE_STATE=$tree_state K3TS_BUILD_DATE=$date
exec "$bun" hack/package/package.ts "$@"
