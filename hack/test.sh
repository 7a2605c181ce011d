#!/usr/bin/env bash
# `npm test`: sets up, builds, and runs every test; `npm test -- PATH…` only those under the paths. Each part (a room of
# units, a folder of test/, a folder of test/e2e) is a `bun test` of its own, so a part that crashes hides no other. The
# last line is always `N passed, N failed`, with `, N skipped` where some were.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# Test clusters freeze all that they store, not only what they give to tests: a component of ours that changes a shared
# object fails where it does so.
export K3TS_FROZEN=all
set +e # a failing part is counted, not the end

# The most that a part may take, in seconds: a test that hangs must not hang the run.
readonly UNIT_LIMIT=600 TEST_LIMIT=900
# The most that one test may take, in milliseconds. Units wait on nothing real; the others wait for containers.
readonly UNIT_TIMEOUT=10000 TEST_TIMEOUT=120000
# The folders of test/ that run containers on this machine.
readonly NEED_ROOT=(e2e)
# The folders of test/ whose folders are parts, since together they would take longer than a part may.
readonly PARTED=(e2e)

passed=0
failed=0
skipped=0
# .ci/run counts a failed check among the failures, so that the last line tells the whole truth.
if [ -n "${K3TS_FAILED_BEFORE:-}" ]; then failed=1; fi

finish() {
  local line="$passed passed, $failed failed"
  if [ "$skipped" -gt 0 ]; then line+=", $skipped skipped"; fi
  printf '%s\n' "$line"
  if [ "$failed" -gt 0 ] || [ "$passed" -eq 0 ]; then exit 1; fi
  exit 0
}

# Without arguments only failures are told one by one.
bun_options=()
if [ $# = 0 ]; then bun_options=(--only-failures); fi

# Counts a failure that is not a test's own.
count_failure() {
  printf 'FAILED: %s\n' "$*"
  failed=$((failed + 1))
}

can_install() { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }

has_tests() { [ -n "$(find "$1" -name '*.test.ts' -not -path '*/node_modules/*' -print -quit 2>/dev/null)" ]; }

# The number before a word like "pass" in the last summary that bun wrote to a log; 0 if it wrote none.
summary() { awk -v word="$2" 'NF == 2 && $2 == word && $1 ~ /^[0-9]+$/ { n = $1 } END { print n + 0 }' "$1"; }

# run_part NAME SECONDS MILLISECONDS PATH…
run_part() {
  local name=$1 limit=$2 timeout=$3
  shift 3
  local log seconds=$SECONDS code
  log=$(mktemp)
  printf '\n==> Testing %s\n' "$name"
  # Through a file, not a pipe: a process that a test left behind would hold the pipe open, and us with it.
  timeout --kill-after=10 "$limit" "$bun" test "${bun_options[@]}" --timeout "$timeout" "$@" </dev/null >"$log" 2>&1 &
  running=$!
  tail -n +1 -f -s 0.1 --pid="$running" "$log" 2>/dev/null &
  local printer=$!
  wait "$running"
  code=$?
  running=
  wait "$printer"
  seconds=$((SECONDS - seconds))
  local pass fail skip todo error
  pass=$(summary "$log" pass)
  fail=$(summary "$log" fail)
  error=$(($(summary "$log" error) + $(summary "$log" errors)))
  skip=$(summary "$log" skip)
  todo=$(summary "$log" todo)
  rm -f "$log"
  passed=$((passed + pass))
  failed=$((failed + fail + error))
  skipped=$((skipped + skip + todo))
  if [ "$code" = 124 ] || [ "$code" = 137 ]; then
    count_failure "$name did not end within $limit s"
  elif [ "$code" != 0 ] && [ $((fail + error)) = 0 ]; then
    count_failure "$name ended with exit code $code, though no test says that it failed"
  elif [ $((pass + fail + error + skip + todo)) = 0 ]; then
    count_failure "$name ran no test"
  fi
  printf '==> %s: %d passed, %d failed, %d skipped in %d s\n' \
    "$name" "$pass" $((fail + error)) $((skip + todo)) "$seconds"
}

# `timeout` gives the tests a process group of their own, which Ctrl-C does not reach.
running=
stop() {
  if [ -n "$running" ]; then kill "$running" 2>/dev/null; fi
  count_failure "stopped by a signal"
  finish
}
trap stop INT TERM HUP

run_unit() { run_part "$1" "$UNIT_LIMIT" "$UNIT_TIMEOUT" "${@:2}"; }

built=
# The folders of test/ run dist/k3ts; units do not.
build_once() {
  if [ -z "$built" ]; then
    if hack/build.sh; then built=yes; else
      built=no
      count_failure "dist/k3ts does not build"
    fi
  fi
  [ "$built" = yes ]
}

run_folder() {
  local folder=$1 paths=("${@:2}") name
  name=$(basename "$folder")
  if [ "$(id -u)" != 0 ] && [[ " ${NEED_ROOT[*]} " == *" $name "* ]]; then
    local files
    files=$(find "${paths[@]}" -name '*.test.ts' | wc -l)
    printf '\n!!! SKIPPED: %s (%d files) needs root and containerd. Run: sudo npm test\n' "${paths[*]#./}" "$files"
    skipped=$((skipped + files))
    return
  fi
  build_once || return
  run_part "${paths[*]#./}" "$TEST_LIMIT" "$TEST_TIMEOUT" "${paths[@]}"
}

# Runs a whole folder of test/, in one part or in several.
run_whole() {
  local folder=$1 part files
  if [[ " ${PARTED[*]} " != *" $(basename "$folder") "* ]]; then
    run_folder "$folder" "./$folder"
    return
  fi
  for part in "$folder"/*/; do
    part=${part%/}
    if has_tests "$part"; then run_folder "$folder" "./$part"; fi
  done
  files=("$folder"/*.test.ts)
  if [ -e "${files[0]}" ]; then run_folder "$folder" "${files[@]/#/./}"; fi
}

if can_install; then
  hack/setup.sh --test || { count_failure "the set-up"; finish; }
else
  printf '!!! Not root and no sudo without a password: no Debian package is installed, and tests that need one are skipped.\n'
  hack/setup.sh --npm-only || { count_failure "the set-up"; finish; }
fi

if [ $# -gt 0 ]; then
  for path in "$@"; do
    path=${path%/}
    path=${path#./}
    case "$path" in
      test/*/*) run_folder "$(cut -d/ -f1-2 <<<"$path")" "./$path" ;;
      test/*.test.ts) run_unit "$path" "./$path" ;;
      test/*) run_whole "$path" ;;
      *) run_unit "$path" "./$path" ;;
    esac
  done
  finish
fi

for room in pkg components cmd hack; do
  if has_tests "$room"; then run_unit "$room" "./$room"; fi
done
rules=(test/*.test.ts)
if [ -e "${rules[0]}" ]; then run_unit "test/*.test.ts" "${rules[@]/#/./}"; fi
for folder in test/*/; do
  folder=${folder%/}
  if has_tests "$folder"; then run_whole "$folder"; fi
done
finish
