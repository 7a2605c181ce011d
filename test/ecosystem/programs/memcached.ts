import { debianImage } from "../debian-image.ts"
import type { Program } from "../program.ts"

/** Three caches, each under a name of its own, and one Service that keeps a client with the same of them. */
const MEMCACHED = `apiVersion: v1
kind: Namespace
metadata: { name: cache }
---
apiVersion: v1
kind: Service
metadata: { name: memcached, namespace: cache }
spec: { clusterIP: None, selector: { app: memcached }, ports: [{ name: memcache, port: 11211, targetPort: memcache }] }
---
apiVersion: v1
kind: Service
metadata: { name: sticky, namespace: cache }
spec:
  sessionAffinity: ClientIP
  selector: { app: memcached }
  ports: [{ name: memcache, port: 11211, targetPort: memcache }]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: memcached, namespace: cache }
spec:
  serviceName: memcached
  replicas: 3
  podManagementPolicy: Parallel
  selector: { matchLabels: { app: memcached } }
  template:
    metadata: { labels: { app: memcached } }
    spec:
      terminationGracePeriodSeconds: 5
      securityContext: { runAsUser: 110, runAsGroup: 110, runAsNonRoot: true, seccompProfile: { type: RuntimeDefault } }
      containers:
        - name: memcached
          image: docker.io/library/memcached:1.6.18
          command: [memcached]
          args: [--memory-limit=8, --max-item-size=2m, --conn-limit=128, --threads=1, -o, modern]
          ports: [{ name: memcache, containerPort: 11211 }]
          readinessProbe: { tcpSocket: { port: memcache }, periodSeconds: 2 }
          livenessProbe: { tcpSocket: { port: memcache }, periodSeconds: 10 }
          resources: { requests: { cpu: 10m, memory: 16Mi }, limits: { memory: 64Mi } }
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: [ALL] }, readOnlyRootFilesystem: true }
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: clients, namespace: cache }
spec:
  podSelector: { matchLabels: { app: memcached } }
  ingress: [{ from: [{ podSelector: { matchLabels: { cache: allowed } } }], ports: [{ port: memcache }] }]
---
apiVersion: v1
kind: Pod
metadata: { name: client, namespace: cache, labels: { cache: allowed } }
spec:
  terminationGracePeriodSeconds: 0
  containers: [{ name: client, image: "k3ts.local/busybox:1", command: [sleep, infinity] }]
---
apiVersion: v1
kind: Pod
metadata: { name: stranger, namespace: cache }
spec:
  terminationGracePeriodSeconds: 0
  containers: [{ name: stranger, image: "k3ts.local/busybox:1", command: [sleep, infinity] }]
`

/** The commands of memcached's protocol are lines of text. */
const ASK = `say() { kubectl -n cache exec "\${FROM:-client}" -- sh -c 'printf "$2\\r\\nquit\\r\\n" | nc -w 5 "$1" 11211' sh "$1" "$2" | tr -d '\\r'; }
put() { has "$(say "$1" "set $2 0 0 \${#3}\\r\\n$3")" STORED; }
holds() { say "$1" "get $2" | grep -qx "$3"; }
`

export const memcached: Program = {
  name: "memcached",
  from: [
    {
      kind: "debian",
      package: "memcached",
      version: "1.6.18-1",
      sha256: "4b19f893291790fc449e6d941f65eadf9215f84ba02de8e580c285219fe05df7",
      libraries: ["libc6", "libevent-2.1-7", "libsasl2-2", "libssl3", "libcrypt1"],
    },
  ],
  shows:
    "three caches, each under its name: keys are kept apart, one ends and the others keep theirs, a Service with affinity leads a client to the same one each time, a NetworkPolicy keeps others out, scaled down and up",
  on: "node",
  images: (had) => [
    debianImage({
      name: "docker.io/library/memcached:1.6.18",
      root: had.folder("memcached"),
      user: { name: "memcache", id: 110, home: "/tmp" },
      writable: [],
    }),
  ],
  async run(at) {
    at.write("memcached.yaml", MEMCACHED)
    await at.step(
      "Installing, and storing",
      240,
      `${ASK}kubectl apply -f memcached.yaml
kubectl -n cache rollout status statefulset/memcached --timeout=150s
kubectl -n cache wait pod client stranger --for=condition=Ready --timeout=60s
for n in 0 1 2; do put "memcached-$n.memcached" "key$n" "value$n"; done
for n in 0 1 2; do holds "memcached-$n.memcached" "key$n" "value$n"; done
holds memcached-1.memcached key0 value0 && fail 'a key is where it was not stored' || true
same 3 "$(kubectl -n cache exec client -- nslookup memcached.cache.svc.cluster.local | grep -c '^Address: 10')"`,
    )
    await at.step(
      "Staying with one of them by affinity",
      240,
      `${ASK}put sticky mine here
for _ in 1 2 3 4 5 6; do holds sticky mine here || fail 'led to another one'; done
FROM=stranger
say memcached-0.memcached version | grep -q VERSION && fail 'a stranger was let in' || true`,
    )
    await at.step(
      "Ending one, and scaling down and up",
      360,
      `${ASK}kubectl -n cache delete pod memcached-1 --force --grace-period=0
until_true 90 kubectl -n cache wait pod memcached-1 --for=condition=Ready --timeout=60s
until_true 30 holds memcached-0.memcached key0 value0
holds memcached-2.memcached key2 value2
holds memcached-1.memcached key1 value1 && fail 'a cache outlived its pod' || true
kubectl -n cache scale statefulset/memcached --replicas=1
kubectl -n cache wait pod memcached-2 --for=delete --timeout=60s
kubectl -n cache scale statefulset/memcached --replicas=3
kubectl -n cache rollout status statefulset/memcached --timeout=90s
put memcached-2.memcached key2 again
holds memcached-0.memcached key0 value0`,
    )
    await at.step("Deleting", 120, "kubectl delete namespace cache --timeout=100s")
  },
}
