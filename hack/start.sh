#!/usr/bin/env bash
# `npm start -- FLAGS`: sets up, builds, and becomes `k3ts server FLAGS`.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

hack/setup.sh
hack/build.sh

# exec: the server gets the signals that npm passes on, and its exit code is npm's.
exec dist/k3ts server "$@"
