#!/usr/bin/env bash
# `npm run format`: lays out every TypeScript file at 120 columns, as `npm run check` asks for.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

hack/setup.sh --npm-only
exec "$bun" node_modules/oxfmt/bin/oxfmt "$@"
