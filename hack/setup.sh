#!/usr/bin/env bash
# Brings what k3ts needs to be built and run: npm packages and, from Debian, the parts that k3ts drives.
# Installs only what is missing, so running it again does nothing and takes a moment.
#
#   hack/setup.sh              what `npm start` needs: no linter, no TypeScript, no second runtime
#   hack/setup.sh --test       and what the tests need
#   hack/setup.sh --bench      and what the benchmarks need
#   hack/setup.sh --release    what tests and the tests of releases need
#   hack/setup.sh --vm         what tests need, and those in virtual machines
#   hack/setup.sh --ecosystem  what tests need, and those with other people's programs; Go is not installed
#   hack/setup.sh --npm-only   every npm package and nothing else: enough to build, check and run the unit tests
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

with_packages=yes
with_development=no
with_test=no
with_bench=no
with_release=no
with_vm=no
with_ecosystem=no
for arg in "$@"; do
  case "$arg" in
    --test) with_test=yes with_development=yes ;;
    --bench) with_bench=yes with_development=yes ;;
    --release) with_release=yes with_test=yes with_development=yes ;;
    --vm) with_vm=yes with_test=yes with_development=yes ;;
    --ecosystem) with_ecosystem=yes with_test=yes with_development=yes ;;
    --npm-only) with_packages=no with_development=yes ;;
    *) fail "unknown option $arg; known are --test, --bench, --release, --vm, --ecosystem and --npm-only" ;;
  esac
done

# ---- npm -------------------------------------------------------------------------------------------------------------

# True if every package of the lock file is installed in its version. Packages for other platforms are marked optional
# and may be absent, and so may those for development where none are asked for. Compares contents, since a checkout
# gives package-lock.json a new date without changing it.
npm_packages_are_current() {
  [ -f node_modules/.package-lock.json ] && node --input-type=commonjs -e '
    const { readFileSync } = require("node:fs")
    const read = (file) => JSON.parse(readFileSync(file, "utf8")).packages
    const installed = read("node_modules/.package-lock.json")
    const withDevelopment = process.argv[1] === "yes"
    for (const [path, wanted] of Object.entries(read("package-lock.json"))) {
      const found = installed[path]
      const mayBeAbsent = path === "" || wanted.optional || wanted.devOptional || (wanted.dev && !withDevelopment)
      if (found === undefined && mayBeAbsent) continue
      if (found?.version !== wanted.version) process.exit(1)
    }
  ' "$with_development"
}

# `npm install` and not `npm ci`, which refuses a lock file that lacks optional packages of other platforms, as one does
# that was written behind a registry that mirrors only some platforms. Both install the versions of the lock file.
install_npm_packages() {
  command -v npm >/dev/null || fail "npm is not on the PATH; run: apt-get install -y nodejs npm"
  if npm_packages_are_current; then return; fi
  say "Installing npm packages"
  # The includes hold even where NODE_ENV=production is set.
  local kinds=(--include=optional) output
  if [ "$with_development" = yes ]; then kinds+=(--include=dev); else kinds+=(--omit=dev); fi
  # </dev/null: nothing may wait for an answer. What npm prints is shown only where it fails.
  if ! output=$(npm install --no-save --no-audit --no-fund --loglevel=error "${kinds[@]}" </dev/null 2>&1); then
    printf '%s\n' "$output" >&2
    fail "npm install failed; run it by hand to see why: (cd $root && npm install)"
  fi
}

bun_works() { "$bun" --version >/dev/null 2>&1; }

# Where npm runs no install scripts, node_modules/bun/bin/bun.exe is a stub that only says so. Its install script puts
# the binary there that suits this machine; failing that, the binary is linked from the optional package that npm chose.
link_bun() {
  if bun_works; then return; fi
  say "Linking the Bun binary"
  (cd node_modules/bun && node install.js </dev/null >&2) || true
  if bun_works; then return; fi
  local binary
  for binary in node_modules/@oven/bun-linux-*/bin/bun; do
    if [ -x "$binary" ] && "$binary" --version >/dev/null 2>&1; then
      ln -sf "$root/$binary" "$bun"
      return
    fi
  done
  fail "no Bun binary runs here; run: (cd $root && rm -rf node_modules && npm ci --include=optional)"
}

# ---- Debian ----------------------------------------------------------------------------------------------------------

has_command() { command -v "$1" >/dev/null 2>&1; }

has_cni_plugins() {
  local folder
  for folder in /usr/lib/cni /opt/cni/bin; do
    if [ -x "$folder/bridge" ] && [ -x "$folder/host-local" ] &&
      [ -x "$folder/loopback" ] && [ -x "$folder/portmap" ]; then
      return 0
    fi
  done
  return 1
}

# The example and test images hold this one file, so it must run without any library.
has_static_busybox() {
  [ -x /bin/busybox ] &&
    (LC_ALL=C ldd /bin/busybox 2>&1 || true) | grep -Eq 'not a dynamic executable|statically linked'
}

has_postgres() { compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null; }

missing_packages() {
  has_command containerd || echo containerd
  has_command runc || echo runc
  has_cni_plugins || echo containernetworking-plugins
  has_command iptables || echo iptables
  has_command nft || echo nftables
  has_command conntrack || echo conntrack
  has_command ip || echo iproute2
  has_static_busybox || echo busybox-static
  if [ "$with_test" = yes ]; then
    # Any kubectl will do. Debian's package would also clash with one that another package put in /usr/bin.
    has_command kubectl || echo kubernetes-client
    has_command docker-registry || echo docker-registry
    has_command curl || echo curl
    has_command etcd || echo etcd-server
    has_command etcdctl || echo etcd-client
    # Tests of the shared store start one of their own; the image of manifests/examples/database.yaml is made of it.
    has_postgres || echo postgresql
  fi
  if [ "$with_release" = yes ]; then
    # Runs executables for other processors.
    has_command qemu-aarch64 || echo qemu-user
    has_command debootstrap || echo debootstrap
    has_command lintian || echo lintian
    has_command mandoc || echo mandoc
    has_command shellcheck || echo shellcheck
  fi
  if [ "$with_vm" = yes ]; then
    has_command qemu-system-x86_64 || echo qemu-system-x86
    has_command debootstrap || echo debootstrap
    has_command mkfs.ext4 || echo e2fsprogs
    has_command xz || echo xz-utils
  fi
  if [ "$with_ecosystem" = yes ]; then
    has_command jq || echo jq
    has_command python3 || echo python3
  fi
  if [ "$with_bench" = yes ]; then
    has_command wrk || echo wrk
    has_command h2load || echo nghttp2-client
    # Beside which the ingress proxy is measured.
    has_command nginx || echo nginx
  fi
}

as_root=()
can_become_root() {
  if [ "$(id -u)" = 0 ]; then return 0; fi
  if has_command sudo && sudo -n true 2>/dev/null; then
    as_root=(sudo -n)
    return 0
  fi
  return 1
}

apt() {
  # Another apt may be at work, as unattended-upgrades is after boot: wait for it instead of failing.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a \
    apt-get -q -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 "$@" </dev/null >&2
}

updated=no
apt_update() {
  if [ "$updated" = yes ]; then return; fi
  updated=yes
  say "Fetching Debian's package lists"
  # The lock on the lists is not one that DPkg::Lock::Timeout waits for.
  local attempt
  for attempt in 1 2 3 4 5 6; do
    if apt update; then return; fi
    if [ "$attempt" -lt 6 ]; then
      say "apt-get update failed; trying again in 10 s"
      sleep 10
    fi
  done
  fail "apt-get update failed; see its message above"
}

apt_knows() {
  local candidate
  candidate=$(LC_ALL=C apt-cache policy "$1" 2>/dev/null | awk '/Candidate:/ { print $2 }')
  [ -n "$candidate" ] && [ "$candidate" != "(none)" ]
}

# Debian's packages start a daemon when installed (containerd, docker-registry). k3ts runs a containerd of its own and
# needs neither, so that start is denied by the means Debian has for it, and only while we install.
policy=/usr/sbin/policy-rc.d
deny_service_starts() {
  if [ -e "$policy" ]; then return; fi
  trap allow_service_starts EXIT
  printf '#!/bin/sh\n# Made by k3ts while it installs packages: no service is started.\nexit 101\n' |
    "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod 755 "$policy"
}
allow_service_starts() {
  if grep -qs 'Made by k3ts' "$policy"; then "${as_root[@]}" rm -f "$policy"; fi
}

install_packages() {
  local missing=() package
  mapfile -t missing < <(missing_packages)
  if [ "${#missing[@]}" = 0 ]; then return; fi
  local by_hand="apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  if ! has_command apt-get; then
    fail "this machine lacks ${missing[*]} (Debian's names) and has no apt-get; install them with its package manager"
  fi
  if ! can_become_root; then
    fail "this machine lacks ${missing[*]}, and installing them needs root; run as root: $by_hand"
  fi
  say "Installing Debian packages: ${missing[*]}"
  for package in "${missing[@]}"; do
    if ! apt_knows "$package"; then apt_update; fi
  done
  deny_service_starts
  # Stale lists name versions that the mirror no longer has, hence one more try with fresh ones.
  if ! apt install -y --no-install-recommends "${missing[@]}"; then
    [ "$updated" = no ] || fail "apt-get install failed; run it by hand to see why: $by_hand"
    apt_update
    apt install -y --no-install-recommends "${missing[@]}" ||
      fail "apt-get install failed; run it by hand to see why: $by_hand"
  fi
  mapfile -t missing < <(missing_packages)
  [ "${#missing[@]}" = 0 ] || fail "installed, but still not found: ${missing[*]}; see whether /usr/sbin and /usr/lib/cni hold them"
}

# The oldest kubectl that Debian has, beside whichever one is installed, for the tests of clients. Where it cannot be
# had these use what there is.
old_kubectl=node_modules/.cache/kubernetes-client
fetch_old_kubectl() {
  if [ -x "$old_kubectl/usr/bin/kubectl" ] || ! has_command apt-get || ! has_command dpkg; then return; fi
  local package=kubernetes-client
  # Installed already: it is the one on the PATH.
  if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ]; then return; fi
  say "Fetching Debian's $package into $old_kubectl, for the tests of clients"
  mkdir -p "$old_kubectl"
  if ! apt_knows "$package" && can_become_root; then apt_update; fi
  if ! (
    cd "$old_kubectl" && apt-get -q -o Acquire::Retries=3 download "$package" </dev/null >&2 &&
      dpkg -x "$package"_*.deb .
  ); then
    say "It cannot be had; clients are tested with the kubectl that is installed"
  fi
  rm -f "$old_kubectl"/*.deb
}

install_npm_packages
link_bun
if [ "$with_packages" = yes ]; then install_packages; fi
if [ "$with_packages" = yes ] && [ "$with_test" = yes ]; then fetch_old_kubectl; fi
say "Set-up is complete (Bun $("$bun" --version))"
