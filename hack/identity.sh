# Sourced after common.sh: tells what is built, as version, commit, tree_state, seconds and date.
# The version is that of package.json; commit and date are git's, so that one commit gives one binary on every machine.
# Without git (a source archive) they can be given, and are else left empty.

# The files and folders that an executable is made of.
sources=(
  cmd components pkg manifests package.json package-lock.json tsconfig.json
  hack/build.sh hack/bytecode-order.txt hack/compile.sh hack/identity.sh hack/images/images.ts
)

version=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' package.json)
commit=${K3TS_GIT_COMMIT:-}
tree_state=archive
seconds=${SOURCE_DATE_EPOCH:-0}
if [ -e .git ] && command -v git >/dev/null && git rev-parse --verify -q HEAD >/dev/null 2>&1; then
  commit=$(git rev-parse HEAD)
  seconds=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
  tree_state=clean
  if [ -n "$(git status --porcelain -- "${sources[@]}")" ]; then tree_state=dirty; fi
fi
date=$(date -u -d "@$seconds" +%Y-%m-%dT%H:%M:%SZ)
