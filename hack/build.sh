#!/usr/bin/env bash
# Compiles dist/k3ts, one executable of Bun, all of our code and assets, and the images of manifests/examples.
# Does nothing where neither a source nor the commit changed since the last build. Sets up first what it is made with.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
if [ ! -x "$bun" ] || [ ! -x /bin/busybox ]; then hack/setup.sh; fi
source hack/identity.sh

# Everything that the binary is made of, as one checksum.
inputs() {
  printf '%s\n' "$version" "$commit" "$tree_state" "$date" "$("$bun" --version)"
  find "${sources[@]}" -type f ! -name '*.test.ts' -print0 |
    LC_ALL=C sort -z | xargs -0 sha256sum /bin/busybox
}

mkdir -p dist
checksum=$(inputs | sha256sum | cut -d' ' -f1)
if [ -x dist/k3ts ] && [ "$(cat dist/.inputs 2>/dev/null)" = "$checksum" ]; then
  say "dist/k3ts is up to date"
  exit 0
fi

say "Packing the images of manifests/examples"
mkdir -p dist/images
"$bun" hack/images/images.ts dist/images/k3ts-examples.tar

say "Building dist/k3ts"
# Written aside and then moved, since a running executable cannot be overwritten.
trap 'rm -rf dist/.new' EXIT
hack/compile.sh dist/.new/k3ts --target=bun --asset=dist/images/k3ts-examples.tar.zst
mv dist/.new/k3ts dist/k3ts

echo "$checksum" >dist/.inputs
say "Built dist/k3ts $version ($(du -h dist/k3ts | cut -f1))"
