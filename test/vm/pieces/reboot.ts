import type { Piece } from "./piece.ts"

/** Pods of a Deployment keep their names over a reboot, since the kubelet starts their containers again. */
const SAME_PODS = `
until_true 300 node_ready
kubectl get pods -l app=web -o name | sort | diff /folder/pods - || fail "these are other pods"
until_true 180 serves
kubectl wait --for=condition=Ready pods -l app=web --timeout="$(bound 120)s"`

export const reboot: Piece = {
  debian: "trixie",
  shows: "the node comes back after a reboot with the same pods, which serve",
  async run(steps) {
    await steps.step("Noting the pods", 60, "kubectl get pods -l app=web -o name | sort >/folder/pods")
    await steps.reboot()
    await steps.step("Finding the pods again", 660, SAME_PODS)
  },
}

export const powerCut: Piece = {
  debian: "trixie",
  shows: "no acknowledged write is lost by a power cut, and the pods come back",
  async run(steps) {
    await steps.step(
      "Writing until the power is cut",
      120,
      `
kubectl get pods -l app=web -o name | sort >/folder/pods
sync
# Each name is on the other disk before the next write, so it is known after the power cut what was acknowledged.
cat >/run/write.sh <<'END'
i=0
kubectl proxy --port 8001 >/dev/null &
until curl -sf 127.0.0.1:8001/livez >/dev/null; do sleep 1; done
while i=$((i + 1)); do
  printf '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"n%s"},"data":{"n":"%s"}}' $i $i >/run/map.json
  curl -sf -H 'Content-Type: application/json' --data @/run/map.json \\
    127.0.0.1:8001/api/v1/namespaces/default/configmaps >/dev/null && echo n$i >>/folder/written && sync /folder/written
done
END
setsid sh /run/write.sh </dev/null >/dev/null 2>&1 &
some() { [ "$(wc -l </folder/written 2>/dev/null || echo 0)" -ge 20 ]; }
until_true 90 some`,
    )
    await steps.cutPower()
    await steps.step(
      "Looking for what was written",
      420,
      `
until_true 300 node_ready
kubectl get configmaps -o jsonpath='{range .items[*]}{.metadata.name}{"\\n"}{end}' | sort >/folder/found
sort /folder/written | comm -23 - /folder/found >/folder/lost
[ -s /folder/written ] || fail "nothing was written"
[ ! -s /folder/lost ] || fail "writes are lost: $(cat /folder/lost)"
echo "$(wc -l </folder/written) writes are all there"`,
    )
    await steps.step("Finding the pods again", 660, SAME_PODS)
  },
}
