#!/bin/sh
# Installs k3ts as a service of systemd or OpenRC, and removes nothing that was there before.
#
#   ./install.sh [FLAGS OF k3ts server]          from the folder of a release, which holds this script
#   curl -sfL URL/install.sh | INSTALL_K3TS_URL=URL sh -s - [FLAGS]
#
# Variables, with the meaning that they have for k3s:
#   INSTALL_K3TS_ARTIFACTS         folder of a release on this machine; default: that of this script, if it is one
#   INSTALL_K3TS_URL               address of the folder of a release: https://...
#   INSTALL_K3TS_VERSION           the version that is wanted; with INSTALL_K3TS_URL, the folder of that name below it
#   INSTALL_K3TS_SHA256            digest that the executable must have, instead of what SHA256SUMS says
#   INSTALL_K3TS_SKIP_DOWNLOAD     true: use the executable that is in the folder of programs already
#   INSTALL_K3TS_SKIP_PACKAGES     true: install no packages with apt-get that k3ts needs
#   INSTALL_K3TS_SKIP_ENABLE       true: neither enable nor start the service
#   INSTALL_K3TS_SKIP_START        true: do not start the service
#   INSTALL_K3TS_FORCE_RESTART     true: restart the service although nothing has changed
#   INSTALL_K3TS_BIN_DIR           folder of programs; default /usr/local/bin
#   INSTALL_K3TS_BIN_DIR_READ_ONLY true: write nothing to that folder
#   INSTALL_K3TS_SYMLINK           skip: make no link kubectl; force: replace one; default: where there is no kubectl
#   INSTALL_K3TS_SYSTEMD_DIR       folder of the unit and its variables; default /etc/systemd/system
#   INSTALL_K3TS_EXEC              flags of the service, separated by spaces; before those of the command line
#   INSTALL_K3TS_NAME              the service is called k3ts-NAME; default k3ts
#   INSTALL_K3TS_TYPE              type of the systemd service; default notify
#   K3TS_*, HTTP_PROXY, HTTPS_PROXY, NO_PROXY   are kept for the service, in a file that only root can read
set -efu

info() { printf '[INFO]  %s\n' "$*"; }
warn() { printf '[WARN]  %s\n' "$*" >&2; }
fatal() {
  printf '[ERROR] %s\n' "$*" >&2
  exit 1
}

is_true() { [ "$1" = true ] || [ "$1" = 1 ]; }

# ---- what is wanted --------------------------------------------------------------------------------------------------

# The flags of the service are "$@" from here on.
check_command() {
  case "${1:-}" in
    '' | -*) ;;
    agent) fatal "k3ts has no agents: a cluster runs on one machine. Leave \"agent\" out to install a server" ;;
    *) fatal "a service runs \"k3ts server\", not \"k3ts $1\"" ;;
  esac
  for word in "$@"; do
    case "$word" in *"
"*) fatal "a flag of the service has a line break, which no unit can hold" ;; esac
  done
}

set_names() {
  version=${INSTALL_K3TS_VERSION:-}
  version=${version#v}
  bin_dir=${INSTALL_K3TS_BIN_DIR:-/usr/local/bin}
  systemd_dir=${INSTALL_K3TS_SYSTEMD_DIR:-/etc/systemd/system}
  service=k3ts${INSTALL_K3TS_NAME:+-$INSTALL_K3TS_NAME}
  case "$service" in
    *[!A-Za-z0-9_.-]*) fatal "INSTALL_K3TS_NAME: \"$INSTALL_K3TS_NAME\" may have letters, digits and _.- only" ;;
  esac
  case "$version" in *[!A-Za-z0-9.+~-]*) fatal "INSTALL_K3TS_VERSION: \"$version\" is no version" ;; esac
  case "${INSTALL_K3TS_SYMLINK:-}" in
    "" | skip | force) ;;
    *) fatal "INSTALL_K3TS_SYMLINK: \"$INSTALL_K3TS_SYMLINK\" is neither skip nor force" ;;
  esac
  case "${INSTALL_K3TS_TYPE:-}" in *[!a-z-]*) fatal "INSTALL_K3TS_TYPE: \"$INSTALL_K3TS_TYPE\" is no type of a service" ;; esac
  for folder in "$bin_dir" "$systemd_dir"; do
    case "$folder" in
      *[!A-Za-z0-9_./+-]* | [!/]*) fatal "\"$folder\" must be an absolute path of letters, digits and _./+- only" ;;
    esac
  done
  executable=$bin_dir/k3ts
  killall=$bin_dir/$service-killall.sh
  uninstall=$bin_dir/$service-uninstall.sh
  sudo=
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || fatal "must be run as root"
    sudo=sudo
  fi
}

find_service_manager() {
  manager=none
  if command -v systemctl >/dev/null; then
    manager=systemd
    service_file=$systemd_dir/$service.service
    environment_file=$systemd_dir/$service.service.env
  elif [ -x /sbin/openrc-run ]; then
    manager=openrc
    service_file=/etc/init.d/$service
    environment_file=/etc/k3ts/$service.env
  else
    fatal "this machine has neither systemd nor OpenRC to run k3ts: start \"k3ts server\" by what it has"
  fi
}

refuse_beside_package() {
  if command -v dpkg-query >/dev/null &&
    [ "$(dpkg-query -W -f '${db:Status-Status}' k3ts 2>/dev/null)" = installed ]; then
    fatal "k3ts is installed as a package: upgrade it with apt, or run \"apt remove k3ts\" first"
  fi
}

# ---- the executable --------------------------------------------------------------------------------------------------

# Writes standard input to a file, all of it or nothing, with a mode and for root.
write_file() {
  # shellcheck disable=SC2016 # expanded by that shell
  $sudo sh -efc '
    new=$(mktemp "$1.XXXXXX")
    trap "rm -f \"$new\"" EXIT
    cat >"$new"
    chmod "$2" "$new"
    chown 0:0 "$new"
    mv -f "$new" "$1"
  ' sh "$1" "$2"
}

set_artifact() {
  case $(uname -m) in
    x86_64 | amd64) artifact=k3ts-linux-amd64 ;;
    aarch64 | arm64) artifact=k3ts-linux-arm64 ;;
    *) fatal "there is no k3ts for the processor $(uname -m): only for amd64 and arm64" ;;
  esac
}

set_source() {
  folder=${INSTALL_K3TS_ARTIFACTS:-}
  url=${INSTALL_K3TS_URL:-}
  if [ -n "$folder" ] && [ -n "$url" ]; then fatal "INSTALL_K3TS_ARTIFACTS and INSTALL_K3TS_URL exclude each other"; fi
  if [ -n "$folder" ]; then
    [ -d "$folder" ] || fatal "INSTALL_K3TS_ARTIFACTS: there is no folder $folder"
    return
  fi
  if [ -n "$url" ]; then
    case "$url" in
      https://*) ;;
      *) [ -n "${INSTALL_K3TS_SHA256:-}" ] ||
        fatal "INSTALL_K3TS_URL: $url is not https:// and could be changed on its way; give INSTALL_K3TS_SHA256 too" ;;
    esac
    url=${url%/}${INSTALL_K3TS_VERSION:+/$INSTALL_K3TS_VERSION}
    return
  fi
  # $0 is "sh" when the script comes by a pipe: then nothing of the folder that it runs in is trusted.
  case "$0" in
    */install.sh) folder=${0%/*} ;;
    install.sh) folder=. ;;
  esac
  if [ -z "$folder" ] || [ ! -f "$folder/SHA256SUMS" ]; then
    fatal "nothing says where k3ts is: set INSTALL_K3TS_ARTIFACTS to the folder of a release, or INSTALL_K3TS_URL"
  fi
}

# get NAME FILE: brings a file of the release.
get() {
  if [ -n "$folder" ]; then
    cp "$folder/$1" "$2" || fatal "$folder has no $1 that can be read"
  elif command -v curl >/dev/null; then
    # A redirection must not lead to an unprotected address.
    curl -fsSL --proto-redir =https --retry 3 -o "$2" "$url/$1" || fatal "download of $url/$1 failed"
  elif command -v wget >/dev/null; then
    # It cannot be told to follow only protected redirections, so it follows none where the digest is not known.
    if [ -n "${INSTALL_K3TS_SHA256:-}" ]; then
      wget -qO "$2" "$url/$1" || fatal "download of $url/$1 failed"
    else
      wget --max-redirect=0 -qO "$2" "$url/$1" ||
        fatal "download of $url/$1 by wget without redirections failed: install curl, or give INSTALL_K3TS_SHA256"
    fi
  else
    fatal "needs curl or wget to download k3ts"
  fi
}

digest_of() { $sudo sha256sum "$1" | cut -d' ' -f1; }

set_expected_digest() {
  expected=${INSTALL_K3TS_SHA256:-}
  if [ -z "$expected" ]; then
    get SHA256SUMS "$scratch/SHA256SUMS"
    expected=$(awk -v name="$artifact" '$2 == name || $2 == "*" name { print $1 }' "$scratch/SHA256SUMS")
  fi
  case "$expected" in *[!0-9a-f]*) expected= ;; esac
  [ "${#expected}" = 64 ] || fatal "SHA256SUMS names no one digest of $artifact, or INSTALL_K3TS_SHA256 is none"
}

# The file is brought to its place under another name, where only root can change it, and replaces the installed one
# after it was checked there: a running k3ts is not disturbed, and a wrong file never has the name of the right one.
install_executable() {
  get "$artifact" "$scratch/$artifact"
  staged=$($sudo mktemp "$bin_dir/.k3ts.XXXXXX")
  $sudo cp "$scratch/$artifact" "$staged"
  found=$(digest_of "$staged")
  [ "$found" = "$expected" ] ||
    fatal "$artifact has the wrong content: its digest is $found, but $expected was expected. Nothing was changed"
  $sudo chown 0:0 "$staged"
  $sudo chmod 755 "$staged"
  check_version "$staged"
  $sudo mv -f "$staged" "$executable"
  staged=
}

check_version() {
  told=$("$1" version 2>&1) || fatal "k3ts does not run on this machine: $told"
  told=$(printf '%s\n' "$told" | sed -n '1s/^k3ts \([^ ]*\).*/\1/p')
  if [ -n "$version" ] && [ "$told" != "$version" ]; then
    fatal "the release is k3ts $told, but INSTALL_K3TS_VERSION asks for $version. Nothing was changed"
  fi
  info "This is k3ts $told"
}

bring_executable() {
  if is_true "${INSTALL_K3TS_SKIP_DOWNLOAD:-}" || is_true "${INSTALL_K3TS_BIN_DIR_READ_ONLY:-}"; then
    [ -x "$executable" ] || fatal "there is no executable $executable, and none is to be brought"
    check_version "$executable"
    return
  fi
  set_artifact
  set_source
  set_expected_digest
  if [ -x "$executable" ] && [ "$(digest_of "$executable")" = "$expected" ]; then
    info "$executable is what is wanted already"
    check_version "$executable"
    return
  fi
  info "Installing $executable from ${folder:-$url}"
  $sudo mkdir -p "$bin_dir"
  install_executable
}

# The executable is kubectl too, by that name. A kubectl that is no link is never replaced.
link_kubectl() {
  link=$bin_dir/kubectl
  case "${INSTALL_K3TS_SYMLINK:-}" in
    skip) return ;;
    force) ;;
    *) if command -v kubectl >/dev/null || [ -e "$link" ]; then return; fi ;;
  esac
  if [ -e "$link" ] && [ ! -L "$link" ]; then
    warn "$link is another kubectl and stays"
    return
  fi
  info "$link is kubectl"
  $sudo ln -sfn k3ts "$link"
}

# ---- what k3ts needs -------------------------------------------------------------------------------------------------

readonly PACKAGES="containerd runc containernetworking-plugins conntrack iproute2 iptables mount nftables kmod ca-certificates"

# Debian's containerd starts a daemon of its own, which k3ts does not need: policy-rc.d denies that start.
install_packages() {
  if is_true "${INSTALL_K3TS_SKIP_PACKAGES:-}"; then return; fi
  if ! command -v apt-get >/dev/null; then
    info "\"k3ts check-config\" shows what this machine lacks, if k3ts does not start"
    return
  fi
  lacking=
  for package in $PACKAGES; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || has_other "$package" ||
      lacking="$lacking $package"
  done
  [ -n "$lacking" ] || return 0
  info "Installing packages:$lacking"
  if [ ! -e /usr/sbin/policy-rc.d ] || grep -qsF "$POLICY_MARK" /usr/sbin/policy-rc.d; then
    policy=/usr/sbin/policy-rc.d
    write_policy | write_file "$policy" 755
  fi
  # shellcheck disable=SC2086 # a word for each package
  if ! apt_get install $lacking && ! { apt_get update && apt_get install $lacking; }; then
    warn "apt-get could not install what k3ts needs; \"k3ts check-config\" shows what is missing"
  fi
  remove_policy
}

readonly POLICY_MARK="made by k3ts's install.sh"

# Denies the start of services as long as this process runs: it may be killed before it can remove the file.
write_policy() {
  # A later process may get the same number, but not the same time of its start.
  began=$(sed 's/.*) //' /proc/$$/stat | cut -d' ' -f20)
  cat <<POLICY
#!/bin/sh
# $POLICY_MARK, and removes itself when that has ended
if [ "\$(sed 's/.*) //' /proc/$$/stat 2>/dev/null | cut -d' ' -f20)" = "$began" ]; then exit 101; fi
rm -f "\$0"
exit 0
POLICY
}

remove_policy() {
  if [ -n "$policy" ]; then $sudo rm -f "$policy"; fi
  policy=
}

# Whether what Debian's package holds is there from elsewhere, such as Docker's containerd.io.
has_other() {
  case "$1" in
    containerd | runc | conntrack | iptables) command -v "$1" >/dev/null ;;
    containernetworking-plugins) [ -x /opt/cni/bin/bridge ] ;;
    *) return 1 ;;
  esac
}

apt_get() {
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=600 --no-install-recommends "$@" \
    </dev/null
}

# ---- the service -----------------------------------------------------------------------------------------------------

# Quotes a word for sh and for the files of variables that systemd reads.
quote() { printf '"%s"' "$(printf '%s\n' "$1" | sed 's/[\\"$`]/\\&/g')"; }

# Quotes a word for ExecStart=.
unit_quote() { printf '"%s"' "$(printf '%s\n' "$1" | sed 's/[\\"]/\\&/g; s/%/%%/g; s/\$/$$/g')"; }

write_environment() {
  $sudo mkdir -p "${environment_file%/*}"
  env | sed -nE 's/^(K3TS_[A-Z0-9_]*|HTTPS?_PROXY|NO_PROXY|https?_proxy|no_proxy)=.*/\1/p' | sort -u |
    while IFS= read -r name; do
      value=
      eval "value=\${$name-}"
      case "$value" in
        '') ;;
        *"
"*) warn "$name has a line break and is left out" ;;
        *) printf '%s=%s\n' "$name" "$(quote "$value")" ;;
      esac
    done | write_file "$environment_file" 600
}

# The same as the unit of the Debian package but for the paths.
write_unit() {
  flags=
  for word in "$@"; do flags="$flags $(unit_quote "$word")"; done
  write_file "$service_file" 644 <<UNIT
[Unit]
Description=k3ts, a Kubernetes cluster on one machine
Wants=network-online.target
After=network-online.target

[Service]
Type=${INSTALL_K3TS_TYPE:-notify}
EnvironmentFile=-/etc/default/$service
EnvironmentFile=-$environment_file
ExecStartPre=-/sbin/modprobe br_netfilter
ExecStartPre=-/sbin/modprobe overlay
ExecStart=$executable server$flags
KillMode=process
Delegate=yes
TasksMax=infinity
LimitNPROC=infinity
LimitNOFILE=1048576
LimitCORE=infinity
Restart=always
RestartSec=5s
RestartPreventExitStatus=2
TimeoutStartSec=10min
WatchdogSec=2min
WatchdogSignal=SIGKILL

[Install]
WantedBy=multi-user.target
UNIT
}

write_openrc_service() {
  flags=
  for word in "$@"; do flags="$flags $(quote "$word")"; done
  # OpenRC evaluates command_args once more.
  flags=$(quote "server$flags")
  write_file "$service_file" 755 <<SERVICE
#!/sbin/openrc-run

depend() {
  after net firewall
  want cgroups
}

start_pre() {
  modprobe -q br_netfilter
  modprobe -q overlay
  return 0
}

name=$service
supervisor=supervise-daemon
command=$executable
command_args=$flags
output_log=/var/log/$service.log
error_log=/var/log/$service.log
pidfile=/run/$service.pid
respawn_delay=5
respawn_max=0
rc_ulimit="-n 1048576 -u unlimited"

set -o allexport
if [ -f $environment_file ]; then . $environment_file; fi
set +o allexport
SERVICE
}

# Prints, as variables, those flags of the service that say where its files are.
paths_of() {
  previous=
  for word in "$@"; do
    case "$previous" in
      -d | --data-dir) echo "K3TS_DATA_DIR=$(quote "$word")" ;;
      -c | --config) echo "K3TS_CONFIG=$(quote "$word")" ;;
      -o | --write-kubeconfig) echo "K3TS_WRITE_KUBECONFIG=$(quote "$word")" ;;
      --default-local-storage-path) echo "K3TS_DEFAULT_LOCAL_STORAGE_PATH=$(quote "$word")" ;;
    esac
    previous=
    case "$word" in
      --data-dir=*) echo "K3TS_DATA_DIR=$(quote "${word#*=}")" ;;
      --config=*) echo "K3TS_CONFIG=$(quote "${word#*=}")" ;;
      --write-kubeconfig=*) echo "K3TS_WRITE_KUBECONFIG=$(quote "${word#*=}")" ;;
      --default-local-storage-path=*) echo "K3TS_DEFAULT_LOCAL_STORAGE_PATH=$(quote "${word#*=}")" ;;
      *) previous=$word ;;
    esac
  done
}

# The start of both scripts below: the settings of the service, so that its folders are found.
script_head() {
  cat <<HEAD
#!/bin/sh
# Made by k3ts's install.sh.
set -eu
if [ "\$(id -u)" != 0 ]; then exec sudo "\$0" "\$@"; fi
set -a
if [ -f $environment_file ]; then . $environment_file; fi
$(paths_of "$@")
set +a
HEAD
}

stop_command() {
  case "$manager" in
    systemd)
      # A removal that was interrupted is run once more: then there may be no unit to stop.
      echo "if [ -d /run/systemd/system ] && systemctl cat $service >/dev/null 2>&1; then systemctl stop $service; fi"
      ;;
    openrc) echo "rc-service $service stop || true" ;;
  esac
}

write_killall() {
  {
    script_head "$@"
    stop_command
    echo "exec $executable killall"
  } | write_file "$killall" 755
}

write_uninstall() {
  {
    script_head "$@"
    stop_command
    echo "$executable uninstall --yes"
    case "$manager" in
      systemd)
        echo "systemctl disable $service 2>/dev/null || true"
        echo "rm -f $service_file $environment_file"
        echo "if [ -d /run/systemd/system ]; then"
        echo "  systemctl daemon-reload"
        echo "  systemctl reset-failed $service 2>/dev/null || true"
        echo "fi"
        others="$systemd_dir/k3ts*.service"
        ;;
      openrc)
        echo "rc-update delete $service default || true"
        echo "rm -f $service_file $environment_file /var/log/$service.log"
        others="/etc/init.d/k3ts*"
        ;;
    esac
    cat <<REST
rmdir /etc/k3ts 2>/dev/null || true
# Another service may use the same executable.
for other in $others; do
  if [ -e "\$other" ]; then kept=yes; fi
done
if [ -z "\${kept:-}" ] && [ -w $bin_dir ]; then
  if [ "\$(readlink $bin_dir/kubectl)" = k3ts ]; then rm -f $bin_dir/kubectl; fi
  rm -f $executable
fi
rm -f $killall $uninstall
REST
  } | write_file "$uninstall" 755
}

state_of_files() { $sudo sha256sum "$executable" "$service_file" "$environment_file" 2>/dev/null || true; }

enable_and_start() {
  if [ "$manager" = systemd ] && [ -d /run/systemd/system ]; then $sudo systemctl daemon-reload; fi
  if is_true "${INSTALL_K3TS_SKIP_ENABLE:-}"; then return; fi
  case "$manager" in
    systemd) $sudo systemctl --quiet enable "$service" ;;
    openrc) $sudo rc-update --quiet add "$service" default ;;
  esac
  if is_true "${INSTALL_K3TS_SKIP_START:-}"; then return; fi
  if [ "$before" = "$(state_of_files)" ] && ! is_true "${INSTALL_K3TS_FORCE_RESTART:-}"; then
    info "Nothing has changed, so $service is not restarted"
    return
  fi
  info "Starting $service"
  case "$manager" in
    systemd)
      if [ -d /run/systemd/system ]; then
        $sudo systemctl restart "$service" || fatal "$service does not start; see: journalctl -u $service"
      else
        warn "systemd does not run here: $service starts at the next boot"
      fi
      ;;
    openrc) $sudo rc-service "$service" restart ;;
  esac
}

main() {
  # shellcheck disable=SC2086 # INSTALL_K3TS_EXEC is a list of words
  set -- ${INSTALL_K3TS_EXEC:-} "$@"
  if [ "${1:-}" = server ]; then shift; fi
  check_command "$@"
  set_names
  find_service_manager
  refuse_beside_package
  umask 022
  scratch=$(mktemp -d)
  staged='' policy=''
  trap 'rm -rf "$scratch"; remove_policy; if [ -n "$staged" ]; then $sudo rm -f "$staged"; fi' EXIT
  trap 'exit 130' INT TERM HUP
  before=$(state_of_files)
  bring_executable
  install_packages
  if ! is_true "${INSTALL_K3TS_BIN_DIR_READ_ONLY:-}"; then
    link_kubectl
    write_killall "$@"
    write_uninstall "$@"
    info "Run $uninstall to remove k3ts and its data, and $killall to stop all its pods"
  fi
  write_environment
  case "$manager" in
    systemd) write_unit "$@" ;;
    openrc) write_openrc_service "$@" ;;
  esac
  enable_and_start
}

# A function that is called in the last line: of half a script that came by a pipe nothing is done.
main "$@"
