import { programImage } from "../program-image.ts"
import type { Program } from "../program.ts"

const CHECKOUT = "kubernetes-sigs/kwok"

const NODES = ["one", "two", "three"]
  .map(
    (name) => `apiVersion: v1
kind: Node
metadata:
  name: fake-${name}
  annotations: { kwok.x-k8s.io/node: fake }
  labels: { type: kwok, kubernetes.io/os: linux, kubernetes.io/arch: amd64 }
spec: { taints: [{ key: kwok.x-k8s.io/node, value: fake, effect: NoSchedule }] }
status:
  allocatable: { cpu: "32", memory: 256Gi, pods: "110" }
  capacity: { cpu: "32", memory: 256Gi, pods: "110" }
`,
  )
  .join("---\n")

const PODS = `apiVersion: apps/v1
kind: Deployment
metadata: { name: many }
spec:
  replicas: 60
  selector: { matchLabels: { app: many } }
  template:
    metadata: { labels: { app: many } }
    spec:
      nodeSelector: { type: kwok }
      tolerations: [{ key: kwok.x-k8s.io/node, operator: Exists, effect: NoSchedule }]
      containers: [{ name: many, image: fake, resources: { requests: { cpu: "1" } } }]
---
apiVersion: batch/v1
kind: Job
metadata: { name: done }
spec:
  completions: 5
  parallelism: 5
  template:
    spec:
      restartPolicy: Never
      nodeSelector: { type: kwok }
      tolerations: [{ key: kwok.x-k8s.io/node, operator: Exists, effect: NoSchedule }]
      containers: [{ name: done, image: fake }]
`

export const kwok: Program = {
  name: "kwok",
  from: [
    {
      kind: "go",
      module: "sigs.k8s.io/kwok",
      package: "cmd/kwok",
      version: "v0.8.0",
      sum: "h1:OTIOTwgROqPMovcTwxICx2eYQ4AwLpSx5EpjbDKF4SQ=",
      program: "kwok",
    },
  ],
  shows:
    "its kustomization: three nodes that it pretends are ready and keep their leases, beside the real one; 60 pods of a Deployment run there and a Job is done; a deleted node's pods come up on others",
  on: "node",
  checkouts: [CHECKOUT],
  images: (had) => [
    programImage({ name: "registry.k8s.io/kwok/kwok:latest", program: had.program("kwok"), as: "kwok" }),
  ],
  async run(at) {
    at.write("nodes.yaml", NODES)
    at.write("pods.yaml", PODS)
    await at.step(
      "Installing",
      240,
      `kubectl apply -k ${at.source(CHECKOUT, "kustomize/kwok")}
kubectl -n kube-system rollout status deployment/kwok-controller --timeout=200s
kubectl apply -k ${at.source(CHECKOUT, "kustomize/stage/fast")}`,
    )
    await at.step(
      "Adding nodes and pods",
      180,
      `kubectl apply -f nodes.yaml
kubectl wait node -l type=kwok --for=condition=Ready --timeout=60s
kubectl apply -f pods.yaml
kubectl rollout status deployment/many --timeout=90s
kubectl wait job done --for=condition=Complete --timeout=60s
same 3 "$(kubectl get pods -l app=many -o json | jq '[.items[].spec.nodeName] | unique | length')"
same 3 "$(kubectl -n kube-node-lease get leases -o name | grep -c fake-)"`,
    )
    await at.step(
      "Losing a node",
      180,
      `kubectl delete node fake-one --timeout=60s
moved() { [ "$(kubectl get pods -l app=many -o json | jq '[.items[] | select(.spec.nodeName == "fake-one")] | length')" = 0 ]; }
until_true 90 moved
kubectl rollout status deployment/many --timeout=90s
kubectl wait node -l type=kwok --for=condition=Ready --timeout=30s`,
    )
    await at.step(
      "Deleting",
      240,
      `kubectl delete -f pods.yaml --timeout=90s
until_true 60 sh -c '[ -z "$(kubectl get pods -o name)" ]'
kubectl delete node -l type=kwok --timeout=60s
kubectl delete -k ${at.source(CHECKOUT, "kustomize/stage/fast")} --timeout=60s
kubectl delete -k ${at.source(CHECKOUT, "kustomize/kwok")} --timeout=90s`,
    )
  },
}
