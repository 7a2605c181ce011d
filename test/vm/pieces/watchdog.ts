import type { Piece } from "./piece.ts"

export const watchdog: Piece = {
  debian: "bookworm",
  shows: "systemd restarts a server that hangs, leaves one that is well alone, and pods go on",
  async run(steps) {
    await steps.step(
      "Running a server with a short watchdog",
      400,
      `
mkdir -p /run/systemd/system/k3ts.service.d
printf '[Service]\\nWatchdogSec=60s\\n' >/run/systemd/system/k3ts.service.d/watchdog.conf
systemctl daemon-reload
systemctl restart k3ts
before=$(property MainPID)
sleep 100
[ "$(property MainPID)" = "$before" ] || fail "the watchdog ended a server that is well"`,
    )
    await steps.step(
      "Hanging the server",
      500,
      `
pids=$(web_pids)
before=$(property MainPID)
kill -STOP "$before"
restarted() { [ "$(property NRestarts)" -ge 1 ] && [ "$(property ActiveState)" = active ]; }
until_true 240 restarted
[ "$(property MainPID)" != "$before" ] || fail "the server that hangs still runs"
[ "$(web_pids)" = "$pids" ] || fail "pods were restarted with the server"
until_true 120 serves`,
    )
  },
}
