import type { Piece } from "./piece.ts"

export const settings: Piece = {
  debian: "bookworm",
  shows: "a wrong setting ends the start with clear words in the journal, and pods go on",
  async run(steps) {
    await steps.step(
      "Starting with a wrong setting",
      400,
      `
pids=$(web_pids)
cp /etc/k3ts/config.yaml /tmp/config.yaml
echo 'nonsense: 1' >>/etc/k3ts/config.yaml
if systemctl restart k3ts; then fail "the server starts with a wrong setting"; fi
[ "$(property ActiveState)" = failed ] || fail "the service is $(property ActiveState) after a wrong setting"
journalctl -u k3ts --no-pager | grep -q 'unknown key "nonsense"' || fail "the journal does not name the wrong setting"
cp /tmp/config.yaml /etc/k3ts/config.yaml
systemctl restart k3ts
[ "$(web_pids)" = "$pids" ] || fail "pods ended with a server that did not start"
until_true 120 serves`,
    )
  },
}
