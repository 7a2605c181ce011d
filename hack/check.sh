#!/usr/bin/env bash
# `npm run check`: types, lint, format, the rules of import, time and chance, what the documentation names, and the
# subjects of commits. Runs all of them, so that one run shows everything.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

hack/setup.sh --npm-only

failed=()
[ -t 2 ] || export NO_COLOR=1
step() {
  local name=$1
  shift
  say "Checking $name"
  "$@" || failed+=("$name")
}

# Both tools come as a small Node script that starts a native program; Bun runs the script, whatever Node is on the
# machine.
step types "$bun" node_modules/typescript/bin/tsc --noEmit -p .
step lint "$bun" node_modules/oxlint/bin/oxlint --deny-warnings --report-unused-disable-directives
# The whole tree takes half a second. `npm run format` writes what this asks for.
step format "$bun" node_modules/oxfmt/bin/oxfmt --check
step rules "$bun" hack/rules/tree.ts

# Those of the tests that a change of the documentation alone can break. They take a second.
documentation() {
  local output
  output=$("$bun" test ./hack/rules/docs.test.ts 2>&1) || { echo "$output" && return 1; }
}
step documentation documentation
step "subjects of commits" "$bun" hack/rules/subjects.ts

[ "${#failed[@]}" = 0 ] || fail "check failed: ${failed[*]}"
say "Checked: types, lint, format, rules, documentation and subjects are fine"
