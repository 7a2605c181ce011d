# Run by package.ts in a Debian with systemd: what the package promises, one step after the other.
set -eu
export HOME=/folder KUBECONFIG=/etc/k3ts/k3ts.yaml DEBIAN_FRONTEND=noninteractive

step() { printf '==> %s (%s s)\n' "$*" "$(cut -d. -f1 /proc/uptime)"; }
fail() {
  printf 'FAILED: %s\n' "$*"
  systemctl status --no-pager --lines=40 k3ts || true
  exit 1
}
# until_true SECONDS COMMAND…
until_true() {
  end=$(($(cut -d. -f1 /proc/uptime) + $1))
  shift
  until "$@"; do
    [ "$(cut -d. -f1 /proc/uptime)" -lt "$end" ] || fail "not within its time: $*"
    sleep 1
  done
}
property() { systemctl show --value --property "$1" k3ts; }
web_pids() { pgrep -x httpd | sort; }
page() { curl -sS -m 10 "http://$(kubectl get svc web -o jsonpath='{.spec.clusterIP}')"; }
serves() { [ "$(page 2>/dev/null)" = "<h1>Hello from k3ts</h1>" ]; }
node_ready() { kubectl get nodes 2>/dev/null | grep -q ' Ready '; }
# Rules, interfaces, mounts, cgroups of pods, programs, and files outside of the places of dpkg, apt and logs.
state() {
  find / /run -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /folder -o -path /var/lib/dpkg \
    -o -path /var/cache -o -path /var/lib/apt -o -path /var/log -o -path /tmp -o -path /run/systemd -o -path /run/udev \
    -o -path /var/lib/systemd/timers \) -prune -o -print | sort -u
  find /var/log/pods /var/log/containers 2>/dev/null || true
  # iptables makes empty tables when it is asked for its rules.
  nft list tables | grep -vE 'table ip6? (nat|filter|mangle|raw)$' | sed 's/^/nft: /' || true
  iptables-save | grep -E '^-A|^:.* - ' | sed 's/ [[].*//; s/^/iptables: /' || true
  ip -o link | cut -d: -f2 | sed 's/^/link:/'
  cut -d' ' -f5 /proc/self/mountinfo | sort | sed 's/^/mount: /'
  find /sys/fs/cgroup -type d \( -path '*kubepods*' -o -path '*k3ts*' \) | sed 's/^/cgroup: /'
  pgrep -l 'k3ts|containerd-shim|httpd|pause' | cut -d' ' -f2 | sort | sed 's/^/process: /'
}

hostname machine
ip link add eth0 type veth peer name wire
ip link set wire up
ip addr add 192.0.2.10/24 dev eth0
ip link set eth0 up
ip route add default via 192.0.2.1

step "Installing what the package depends on"
apt-get -q satisfy -y "$(dpkg-deb -f k3ts.deb Depends)" >/dev/null
systemctl disable --now containerd 2>/dev/null
state >/tmp/before

step "Installing the package with apt"
apt-get -q install -y ./k3ts.deb
[ "$(property ActiveState)" = active ] || fail "the service does not run"
[ "$(property StatusText)" = Running ] || fail "systemd was not told that the server runs"
[ "$(property WatchdogUSec)" = 2min ] || fail "the watchdog does not watch"
[ "$(systemctl is-enabled k3ts)" = enabled ] || fail "the service does not start at boot"
until_true 300 node_ready

step "Serving the first application"
kubectl apply -f /usr/share/doc/k3ts/examples/web.yaml
kubectl rollout status deploy/web --timeout=300s
until_true 60 serves
pids=$(web_pids)

step "Letting an ordinary user look for secrets"
found=$(setpriv --reuid 65534 --regid 65534 --clear-groups \
  find /etc/k3ts /var/lib/k3ts/server /var/lib/k3ts/agent/kubelet -type f -readable 2>/dev/null || true)
[ "$found" = /etc/k3ts/config.yaml ] || fail "an ordinary user can read $found"

step "Upgrading while pods run"
before=$(property MainPID)
apt-get -q install -y ./newer.deb
[ "$(property ActiveState)" = active ] || fail "the upgraded service does not run"
[ "$(property MainPID)" != "$before" ] || fail "the server was not restarted"
[ "$(web_pids)" = "$pids" ] || fail "pods were restarted by an upgrade"
until_true 120 serves

step "Hanging the server, for the watchdog"
mkdir -p /run/systemd/system/k3ts.service.d
printf '[Service]\nWatchdogSec=60s\n' >/run/systemd/system/k3ts.service.d/watchdog.conf
systemctl daemon-reload
systemctl restart k3ts
before=$(property MainPID)
sleep 100
[ "$(property MainPID)" = "$before" ] || fail "the watchdog ended a server that is well"
kill -STOP "$before"
restarted() { [ "$(property NRestarts)" -ge 1 ] && [ "$(property ActiveState)" = active ]; }
until_true 240 restarted
[ "$(property MainPID)" != "$before" ] || fail "the server that hangs still runs"
[ "$(web_pids)" = "$pids" ] || fail "pods were restarted with the server"
until_true 120 serves
rm -r /run/systemd/system/k3ts.service.d
systemctl daemon-reload

step "Starting with a wrong setting"
cp /etc/k3ts/config.yaml /tmp/config.yaml
echo 'nonsense: 1' >>/etc/k3ts/config.yaml
if systemctl restart k3ts; then fail "the server starts with a wrong setting"; fi
[ "$(property ActiveState)" = failed ] || fail "the service is $(property ActiveState) after a wrong setting"
journalctl -u k3ts --no-pager | grep -q 'unknown key "nonsense"' || fail "the journal does not name the wrong setting"
cp /tmp/config.yaml /etc/k3ts/config.yaml
rm /tmp/config.yaml
systemctl restart k3ts
[ "$(web_pids)" = "$pids" ] || fail "pods ended with a server that did not start"

step "Purging the package"
apt-get -q purge -y k3ts
state >/tmp/after
diff /tmp/before /tmp/after || fail "the purge left something, or took something away"
step "All is well"
