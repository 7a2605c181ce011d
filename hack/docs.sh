#!/usr/bin/env bash
# `npm run docs`: builds the documentation as static HTML in dist/site. SOURCES, if set, is the URL under which the files
# of the tree can be read; links to them lead there.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

hack/setup.sh --npm-only
exec "$bun" hack/site/main.ts "$@"
