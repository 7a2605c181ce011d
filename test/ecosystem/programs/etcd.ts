import { debianImage } from "../debian-image.ts"
import type { Program } from "../program.ts"

/** Three members, after etcd's documentation for Kubernetes, with a budget for drains. */
const ETCD = `apiVersion: v1
kind: Namespace
metadata: { name: etcd }
---
apiVersion: v1
kind: Service
metadata: { name: etcd, namespace: etcd }
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector: { app: etcd }
  ports: [{ name: client, port: 2379 }, { name: peer, port: 2380 }]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: { name: etcd, namespace: etcd }
spec: { maxUnavailable: 1, selector: { matchLabels: { app: etcd } } }
---
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: etcd, namespace: etcd }
spec:
  serviceName: etcd
  replicas: 3
  podManagementPolicy: Parallel
  selector: { matchLabels: { app: etcd } }
  template:
    metadata: { labels: { app: etcd } }
    spec:
      containers:
        - name: etcd
          image: quay.io/coreos/etcd:v3.4.23
          command: [etcd]
          args:
            - --name=$(POD_NAME)
            - --data-dir=/data/etcd
            - --listen-client-urls=http://0.0.0.0:2379
            - --listen-peer-urls=http://0.0.0.0:2380
            - --listen-metrics-urls=http://0.0.0.0:8080
            - --advertise-client-urls=http://$(POD_NAME).etcd.$(POD_NAMESPACE).svc:2379
            - --initial-advertise-peer-urls=http://$(POD_NAME).etcd.$(POD_NAMESPACE).svc:2380
            - --initial-cluster=etcd-0=http://etcd-0.etcd.$(POD_NAMESPACE).svc:2380,etcd-1=http://etcd-1.etcd.$(POD_NAMESPACE).svc:2380,etcd-2=http://etcd-2.etcd.$(POD_NAMESPACE).svc:2380
            - --initial-cluster-state=new
          env:
            - { name: POD_NAME, valueFrom: { fieldRef: { fieldPath: metadata.name } } }
            - { name: POD_NAMESPACE, valueFrom: { fieldRef: { fieldPath: metadata.namespace } } }
            - { name: ETCDCTL_API, value: "3" }
          ports: [{ name: client, containerPort: 2379 }, { name: peer, containerPort: 2380 }, { name: metrics, containerPort: 8080 }]
          startupProbe: { httpGet: { path: /health, port: metrics }, periodSeconds: 2, failureThreshold: 60 }
          readinessProbe: { httpGet: { path: /health, port: metrics }, periodSeconds: 2 }
          resources: { requests: { cpu: 20m, memory: 32Mi }, limits: { memory: 256Mi } }
          volumeMounts: [{ name: data, mountPath: /data }]
  volumeClaimTemplates:
    - metadata: { name: data }
      spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 256Mi } } }
`

const ETCDCTL = `ctl() { kubectl -n etcd exec "etcd-$1" -- etcdctl --endpoints=etcd-0.etcd:2379,etcd-1.etcd:2379,etcd-2.etcd:2379 "\${@:2}"; }
healthy() { [ "$(ctl 1 endpoint health --write-out=json 2>/dev/null | jq '[.[] | select(.health)] | length')" = "$1" ]; }
holds() { [ "$(ctl "$1" get "$2" --print-value-only)" = "$3" ]; }
`

export const etcd: Program = {
  name: "etcd",
  from: [
    {
      kind: "debian",
      package: "etcd-server",
      version: "3.4.23-4+b4",
      sha256: "3a9445d4560ad6de1c375756b2a17d97713df44cbd20a658c871fe108af7ef5d",
      libraries: ["etcd-client", "libc6"],
    },
  ],
  shows:
    "a StatefulSet of three members that find each other by the names of pods: keys are kept over the end of a member, a rolling restart without a loss of the quorum, and from a snapshot; a budget allows one eviction and refuses a second",
  on: "node",
  images: (had) => [
    debianImage({
      name: "quay.io/coreos/etcd:v3.4.23",
      root: had.folder("etcd-server"),
      user: { name: "etcd", id: 104, home: "/data" },
      writable: ["data"],
    }),
  ],
  async run(at) {
    at.write("etcd.yaml", ETCD)
    await at.step(
      "Installing",
      180,
      `${ETCDCTL}kubectl apply -f etcd.yaml
kubectl -n etcd rollout status statefulset/etcd --timeout=150s
same 3 "$(ctl 0 member list | grep -c started)"
healthy 3 || fail 'a member is not healthy'
for n in $(seq 1 20); do echo "key$n"; done | while read -r key; do ctl 0 put "$key" "value of $key"; done
holds 2 key20 'value of key20'`,
    )
    await at.step(
      "Ending a member without notice, and evicting by the API",
      150,
      `${ETCDCTL}kubectl -n etcd delete pod etcd-2 --force --grace-period=0
ctl 0 put written during
until_true 90 kubectl -n etcd wait pod etcd-2 --for=condition=Ready --timeout=60s
until_true 30 holds 2 written during
until_true 30 sh -c '[ "$(kubectl -n etcd get pdb etcd -o jsonpath={.status.disruptionsAllowed})" = 1 ]'
evict() { kubectl create --raw "/api/v1/namespaces/etcd/pods/$1/eviction" -f - <<EOF
{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"$1","namespace":"etcd"}}
EOF
}
evict etcd-0
refused=$(evict etcd-1 2>&1 || true)
has "$refused" "Cannot evict pod as it would violate the pod's disruption budget"
until_true 90 kubectl -n etcd wait pod etcd-0 --for=condition=Ready --timeout=60s`,
    )
    await at.step(
      "Restarting all, one by one, while writing",
      240,
      `${ETCDCTL}kubectl -n etcd rollout restart statefulset/etcd
for n in $(seq 1 10); do ctl 0 put "while" "$n" || ctl 1 put "while" "$n" || ctl 2 put "while" "$n"; sleep 1; done
kubectl -n etcd rollout status statefulset/etcd --timeout=200s
until_true 30 healthy 3
holds 0 while 10
holds 1 key7 'value of key7'`,
    )
    await at.step(
      "Taking a snapshot, copying it out, and reading it",
      90,
      `kubectl -n etcd exec etcd-1 -- etcdctl --endpoints=localhost:2379 snapshot save /tmp/etcd.db
kubectl -n etcd cp etcd-1:/tmp/etcd.db etcd.db
kubectl -n etcd cp etcd.db etcd-0:/tmp/copied.db
status=$(kubectl -n etcd exec etcd-0 -- etcdctl snapshot status /tmp/copied.db --write-out=json)
[ "$(echo "$status" | jq .totalKey)" -ge 30 ] || fail "$status"`,
    )
    await at.step("Deleting", 120, "kubectl delete namespace etcd --timeout=100s")
  },
}
