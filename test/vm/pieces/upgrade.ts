import type { Piece } from "./piece.ts"

export const upgrade: Piece = {
  debian: "bookworm",
  shows: "a newer package replaces the server, and pods go on; an ordinary user can read no secret",
  async run(steps) {
    await steps.step(
      "Letting an ordinary user look for secrets",
      60,
      `
found=$(setpriv --reuid 65534 --regid 65534 --clear-groups \\
  find /etc/k3ts /var/lib/k3ts/server /var/lib/k3ts/agent/kubelet -type f -readable 2>/dev/null || true)
[ "$found" = /etc/k3ts/config.yaml ] || fail "an ordinary user can read $found"`,
    )
    await steps.step(
      "Upgrading while pods run",
      600,
      `
pids=$(web_pids)
before=$(property MainPID)
apt-get -q install -y ./newer.deb
[ "$(property ActiveState)" = active ] || fail "the upgraded service does not run"
[ "$(property MainPID)" != "$before" ] || fail "the server was not restarted"
[ "$(web_pids)" = "$pids" ] || fail "pods were restarted by an upgrade"
until_true 120 serves`,
    )
  },
}
