#!/usr/bin/env bash
# hack/compile.sh FILE [OPTION…]: compiles one executable of Bun and all of our code and assets. Options go to
# `bun build`: --asset=…/k3ts-examples.tar.zst for the images of manifests/examples (hack/images/images.ts), and --target
# and --compile-executable-path for another processor. The same commit gives the same bytes, in whatever folder it lies.
# Needs hack/setup.sh to have run.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source hack/identity.sh

[ $# -gt 0 ] || fail "expected the file to write as first argument"
file=$1
shift

# Bun writes the folder of this checkout in place of __dirname, which two files of @grpc/grpc-js have, to find .proto
# files of services that k3ts does not use. Hence the fixed one.
#
# The executable must not read a .env or bunfig.toml of the folder that it happens to be started in. The source map is
# 1 MB, and names files and lines in stack traces. Split, so that a command loads only what it needs: `k3ts version`
# then takes 18 ms instead of 31, and a server 4 MB less. Pieces below 16 KB that nothing happens in are joined with
# larger ones, since each that a start loads costs some tenths of a millisecond.
#
# The bytecode of the functions that a start calls lies together (hack/bytecode-order.sh): 3 MB less.
#
# Until the program says that it has started (pkg/runtime/jit.ts), code is compiled 20 times later than usual: a start
# then takes 120 ms of processor time instead of 205, and 8 MB less. From 20 on it does not matter how much later.
"$bun" build --compile --splitting --minify --keep-names --bytecode --format=esm --sourcemap=inline \
  --min-chunk-size=16384 --bytecode-order=hack/bytecode-order.txt --compile-jit-policy=20 \
  --no-compile-autoload-dotenv --no-compile-autoload-bunfig \
  --define '__dirname="/"' \
  --define "K3TS_VERSION=\"$version\"" --define "K3TS_GIT_COMMIT=\"$commit\"" \
  --define "K3TS_GIT_TREE_STATE=\"$tree_state\"" --define "K3TS_BUILD_DATE=\"$date\"" \
  "$@" --outfile="$file" cmd/k3ts/main.ts >&2
