import { programImage } from "../program-image.ts"
import type { Program } from "../program.ts"
import { HELM } from "./helm.ts"

const CHARTS = "nats-io/k8s"

/** A pod that speaks NATS' protocol, which is lines of text. */
const CLIENT = `apiVersion: v1
kind: Pod
metadata: { name: client, namespace: nats }
spec:
  terminationGracePeriodSeconds: 0
  containers: [{ name: client, image: "k3ts.local/busybox:1", command: [sleep, infinity] }]
`

/** Asks NATS for something: `ask SUBJECT PAYLOAD`, and prints what comes as an answer. */
const ASK = `ask() {
  kubectl -n nats exec client -- sh -c '{ printf "CONNECT {\\"verbose\\":false}\\r\\nSUB answer 1\\r\\nPUB %s answer %s\\r\\n%s\\r\\nPING\\r\\n" "$1" "\${#2}" "$2"; sleep 1; } | nc nats 4222' sh "$1" "$2" || true
}
`

export const nats: Program = {
  name: "nats",
  from: [
    {
      kind: "go",
      module: "github.com/nats-io/nats-server/v2",
      version: "v2.15.2",
      sum: "h1:yLsgt2kslgymvxvjFq1WGWck5hkat2YYfbXvQ145tzU=",
      program: "nats-server",
    },
    HELM,
  ],
  shows:
    "its chart with three servers and JetStream on claims: a stream of three replicas keeps its messages over the end of a server and a rolling restart",
  on: "node",
  checkouts: [CHARTS],
  images: (had) => [
    programImage({ name: "docker.io/library/nats:2.15.2", program: had.program("nats-server"), as: "nats-server" }),
  ],
  async run(at) {
    at.write("client.yaml", CLIENT)
    await at.step(
      "Installing",
      240,
      `helm install nats ${at.source(CHARTS, "helm/charts/nats")} -n nats --create-namespace --wait --timeout 3m \\
  --set config.cluster.enabled=true,config.jetstream.enabled=true,config.jetstream.fileStore.pvc.size=1Gi \\
  --set container.image.tag=2.15.2,reloader.enabled=false,natsBox.enabled=false
kubectl apply -f client.yaml
kubectl -n nats wait pod client --for=condition=Ready --timeout=60s
same 3 "$(kubectl -n nats get pvc -o json | jq '[.items[] | select(.status.phase == "Bound")] | length')"`,
    )
    await at.step(
      "Making a stream of three replicas, and writing to it",
      90,
      `${ASK}
has "$(ask '$JS.API.STREAM.CREATE.orders' '{"name":"orders","subjects":["orders.*"],"num_replicas":3,"storage":"file"}')" '"did_create":true'
for n in 1 2 3 4 5; do has "$(ask orders.new "order $n")" "\\"seq\\":$n"; done`,
    )
    await at.step(
      "Ending a server, and restarting all of them one by one",
      420,
      `${ASK}
kubectl -n nats delete pod nats-0 --force --grace-period=0
until_true 60 kubectl -n nats wait pod nats-0 --for=condition=Ready --timeout=30s
has "$(ask '$JS.API.STREAM.INFO.orders' '')" '"messages":5'
kubectl -n nats rollout restart statefulset/nats
kubectl -n nats rollout status statefulset/nats --timeout=360s
answer=$(ask '$JS.API.STREAM.INFO.orders' '')
has "$answer" '"messages":5'
has "$(ask orders.new 'order 6')" '"seq":6'`,
    )
    await at.step(
      "Uninstalling",
      180,
      "helm uninstall nats -n nats --wait && kubectl delete namespace nats --timeout=120s",
    )
  },
}
