#!/usr/bin/env bash
# Writes hack/bytecode-order.txt: the functions that a start of `k3ts server` calls, in the order of their first calls.
# hack/compile.sh puts their bytecode together, so that a start reads few pages of the executable. A function is
# named by a digest of its source, so the file stays good for all functions that did not change: run this before a
# release, and whenever a start takes more memory than it should.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

hack/setup.sh --npm-only
hack/build.sh

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Starts a server with the flags, stops it when it runs, and prints the functions that it has called.
functions_of_start() {
  rm -rf "$dir/data"
  BUN_BYTECODE_ORDER_OUT="$dir/order" dist/k3ts server --config /dev/null --data-dir "$dir/data" \
    --https-listen-port 16443 --write-kubeconfig "$dir/kubeconfig" "$@" >"$dir/log" 2>&1 &
  local server=$!
  until grep -q "k3ts is running" "$dir/log"; do
    kill -0 "$server" 2>/dev/null || fail "the server ended: $(tail -3 "$dir/log")"
    sleep 0.1
  done
  kill -TERM "$server"
  wait "$server"
  grep '^F ' "$dir/order"
}

{
  echo v2
  {
    functions_of_start --disable-agent
    functions_of_start --container-runtime-endpoint simulated
  } | awk '!seen[$0]++'
} >"$dir/functions"
mv "$dir/functions" hack/bytecode-order.txt
say "hack/bytecode-order.txt has $(wc -l <hack/bytecode-order.txt) lines"
