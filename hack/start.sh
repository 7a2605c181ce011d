#!/usr/bin/env bash
# `npm start -- FLAGS`: sets up, builds, and becomes `k3ts server FLAGS`.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

hack/setup.sh
hack/build.sh

# The data directory that the server will use: a flag wins over the environment, as it does there.
data_dir=${K3TS_DATA_DIR:-/var/lib/k3ts}
previous=
for arg in "$@"; do
  case "$previous" in --data-dir | -d) data_dir=$arg ;; esac
  case "$arg" in --data-dir=*) data_dir=${arg#--data-dir=} ;; esac
  previous=$arg
done

# The server imports what lies here, so that manifests/examples run without a registry. Written under another name
# first: a running server may watch the folder.
place_example_images() {
  local folder="$data_dir/agent/images" archive=dist/images/k3ts-examples.tar
  if cmp -s "$archive" "$folder/k3ts-examples.tar"; then return; fi
  # Without the right to write there the server will not start either, and says why.
  if ! mkdir -p "$folder" 2>/dev/null; then return; fi
  cp "$archive" "$folder/.k3ts-examples.tar.new"
  mv "$folder/.k3ts-examples.tar.new" "$folder/k3ts-examples.tar"
  say "Placed the example images in $folder"
}

# A server without a node runs no containers; and only asking for help must leave nothing behind.
case " $* " in
  *" --disable-agent "* | *" --disable-agent=true "* | *" --help "* | *" -h "*) ;;
  *) place_example_images ;;
esac

# exec: the server gets the signals that npm passes on, and its exit code is npm's.
exec dist/k3ts server "$@"
