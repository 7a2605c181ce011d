#!/usr/bin/env bash
# `npm run bench`: sets up, builds and measures. Arguments go to test/bench/main.ts.
#
#   npm run bench -- compare A B [ROUNDS] [WORD…]
#                      two executables side by side (test/bench/compare/main.ts). A and B are files or commits, which
#                      are built; `.` is what is here.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# Prints the path of the executable that an argument of `compare` means.
executable_of() {
  if [ "$1" = . ]; then
    hack/build.sh
    echo dist/k3ts
    return
  fi
  if [ -f "$1" ]; then
    echo "$1"
    return
  fi
  local commit
  commit=$(git rev-parse --verify -q --short=12 "$1^{commit}") || fail "$1 is neither a file nor a commit"
  if [ ! -x "dist/compare/$commit" ]; then build_commit "$commit"; fi
  echo "dist/compare/$commit"
}

# Builds a commit in a work tree of its own, with the packages of this one.
build_commit() {
  local tree
  tree=$(mktemp -d)
  git worktree add --quiet --detach "$tree" "$1" >&2
  ln -s "$root/node_modules" "$tree/node_modules"
  "$tree/hack/build.sh"
  mkdir -p dist/compare
  mv "$tree/dist/k3ts" "dist/compare/$1"
  git worktree remove --force "$tree"
}

if [ "${1:-}" = compare ]; then
  [ $# -ge 3 ] || fail "two executables or commits are needed: npm run bench -- compare A B [ROUNDS] [WORD…]"
  hack/setup.sh --npm-only
  first=$(executable_of "$2")
  second=$(executable_of "$3")
  exec "$bun" test/bench/compare/main.ts "$first" "$second" "${@:4}"
fi

hack/setup.sh --test --bench
hack/build.sh
exec "$bun" test/bench/main.ts "$@"
