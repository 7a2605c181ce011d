import { limitPods } from "./limits.ts"
import type { Piece } from "./piece.ts"

/** What the services of a Debian do at boot, and the test needs. */
const BOOT = `
hostname machine
modprobe -a virtio_net overlay br_netfilter
ip link set eth0 up
ip address add 10.0.2.15/24 dev eth0
ip route add default via 10.0.2.2
# The first program that mounts something makes it.
mkdir -p /run/mount
state >/folder/before`

/** Starts a server without a service manager. */
const START = `
setsid k3ts server >>/var/log/k3ts.log 2>&1 </dev/null &
until_true 300 node_ready`

const INSTALL = `
apt-get -q install -y ./k3ts.deb
${START}
until_true 120 applied
kubectl rollout status deploy/web --timeout="$(bound 300)s"
until_true 60 serves`

const RESTART = `
pids=$(web_pids)
server() { pgrep -xf 'k3ts server'; }
kill "$(server)"
ended() { ! server >/dev/null; }
until_true 60 ended
find /sys/fs/cgroup/kubepods -type d | sort >/folder/cgroups
${START}
[ "$(web_pids)" = "$pids" ] || fail "pods were restarted with the server"
find /sys/fs/cgroup/kubepods -type d | sort | diff /folder/cgroups - || fail "the cgroups changed with the server"
until_true 120 serves`

export const cgroupfs: Piece = {
  debian: "trixie",
  services: "none",
  shows: "cgroup v2 without systemd: pods, limits, metrics, resize, the end without memory; and nothing is left",
  async run(steps) {
    await steps.step("Bringing the network up", 60, BOOT)
    await steps.step("Installing the package and serving the first application", 900, INSTALL)
    await limitPods(steps, "cgroupfs", "/sys/fs/cgroup/kubepods/burstable/pod*/*")
    await steps.step("Restarting the server", 400, RESTART)
    await steps.step(
      "Purging the package",
      600,
      `
apt-get -q purge -y k3ts
state >/folder/after
diff /folder/before /folder/after || fail "the purge left something, or took something away"`,
    )
  },
}
