#!/usr/bin/env bash
# `npm run release`: sets up, and makes every file of a release in dist/release. With `-- --verify` it makes the release
# a second time in a clone, and compares. Arguments go to hack/release/main.ts. See docs/release.md.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

hack/setup.sh
# The types of the npm package are made by TypeScript, which nothing else of a release needs.
hack/setup.sh --npm-only
source hack/identity.sh

# What an earlier step of the same machine wrote must not decide what a release is made of.
changed=
if [ "$tree_state" != archive ]; then changed=$(git status --porcelain); fi
export K3TS_VERSION=$version K3TS_GIT_COMMIT=$commit K3TS_CHANGED_FILES=$changed SOURCE_DATE_EPOCH=$seconds
exec "$bun" hack/release/main.ts "$@"
