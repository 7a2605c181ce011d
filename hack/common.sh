# Sourced by the scripts in this folder; has no effect of its own but names.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# Debian keeps iptables, nft, runc and conntrack in sbin, which is not on every user's PATH.
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"

# What the project's Bun is called. Not the Bun on the PATH: its version is part of the lock file.
bun="$root/node_modules/bun/bin/bun.exe"

say() { printf '==> %s\n' "$*" >&2; }
fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}
