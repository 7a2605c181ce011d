#!/usr/bin/env bash
# `npm run check`: types, lint, format, the rules of import, time and chance, and the subjects of commits. Runs all of
# them, so that one run shows everything.
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
step "subjects of commits" "$bun" hack/rules/subjects.ts

[ "${#failed[@]}" = 0 ] || fail "check failed: ${failed[*]}"
say "Checked: types, lint, format, rules and subjects are fine"
