import { debianImage } from "../debian-image.ts"
import type { Program } from "../program.ts"

/** Three servers, after Redis' documentation on replication and persistence. */
const REDIS = `apiVersion: v1
kind: Namespace
metadata: { name: redis }
---
apiVersion: v1
kind: Secret
metadata: { name: redis, namespace: redis }
stringData: { password: opensesame }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: redis, namespace: redis }
data:
  redis.conf: |
    dir /data
    appendonly yes
    appendfsync always
  start.sh: |
    set -- redis-server /etc/redis/redis.conf --requirepass "$REDISCLI_AUTH" --masterauth "$REDISCLI_AUTH"
    [ "$(hostname)" = redis-0 ] || set -- "$@" --replicaof redis-0.redis 6379
    exec "$@"
---
apiVersion: v1
kind: Service
metadata: { name: redis, namespace: redis }
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector: { app: redis }
  ports: [{ name: redis, port: 6379 }]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: redis, namespace: redis }
spec:
  serviceName: redis
  replicas: 3
  selector: { matchLabels: { app: redis } }
  template:
    metadata: { labels: { app: redis } }
    spec:
      securityContext: { runAsUser: 100, runAsGroup: 100, fsGroup: 100, runAsNonRoot: true }
      containers:
        - name: redis
          image: docker.io/library/redis:7.0.15
          command: [sh, /etc/redis/start.sh]
          env: [{ name: REDISCLI_AUTH, valueFrom: { secretKeyRef: { name: redis, key: password } } }]
          ports: [{ name: redis, containerPort: 6379 }]
          readinessProbe: { exec: { command: [redis-cli, ping] }, periodSeconds: 2 }
          resources: { requests: { cpu: 10m, memory: 16Mi }, limits: { memory: 128Mi } }
          volumeMounts:
            - { name: data, mountPath: /data }
            - { name: config, mountPath: /etc/redis }
      volumes: [{ name: config, configMap: { name: redis } }]
  volumeClaimTemplates:
    - metadata: { name: data }
      spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 100Mi } } }
`

const CLI = `on() { kubectl -n redis exec "redis-$1" -c redis -- redis-cli "\${@:2}"; }
linked() { for n in 1 2; do on $n info replication | grep -q master_link_status:up || return 1; done; }
holds() { [ "$(on "$1" get "$2")" = "$3" ]; }
`

export const redis: Program = {
  name: "redis",
  from: [
    {
      kind: "debian",
      package: "redis-tools",
      version: "5:7.0.15-1~deb12u7",
      sha256: "3c8cd27847c6a06b6f6c29e7415a9057462a89661e3a8e2eb8dd5b2d7830bb40",
      libraries: [
        "redis-server",
        ...["libatomic1", "libc6", "libgcc-s1", "libjemalloc2", "liblzf1", "libssl3", "libstdc++6", "libsystemd0"],
        ...["libcap2", "libgcrypt20", "libgpg-error0", "liblz4-1", "liblzma5", "libzstd1"],
      ],
    },
  ],
  shows:
    "a StatefulSet of a primary and two replicas on claims, reached by the names of pods: replicated, kept over the end of the primary without notice, scaled down and up with its old data",
  on: "node",
  images: (had) => [
    debianImage({
      name: "docker.io/library/redis:7.0.15",
      root: had.folder("redis-tools"),
      user: { name: "redis", id: 100, home: "/data" },
      writable: ["data"],
    }),
  ],
  async run(at) {
    at.write("redis.yaml", REDIS)
    await at.step(
      "Installing",
      180,
      `${CLI}kubectl apply -f redis.yaml
kubectl -n redis rollout status statefulset/redis --timeout=120s
until_true 30 linked
on 0 set stock 7
until_true 10 holds 2 stock 7`,
    )
    await at.step(
      "Ending the primary without notice",
      120,
      `${CLI}kubectl -n redis delete pod redis-0 --force --grace-period=0
until_true 60 kubectl -n redis wait pod redis-0 --for=condition=Ready --timeout=30s
until_true 10 holds 0 stock 7
until_true 30 linked
on 0 set stock 8
until_true 10 holds 1 stock 8`,
    )
    await at.step(
      "Scaling down and up",
      180,
      `${CLI}kubectl -n redis scale statefulset/redis --replicas=1
until_true 60 sh -c '! kubectl -n redis get pod redis-1 redis-2'
same 3 "$(kubectl -n redis get pvc -o name | wc -l)"
kubectl -n redis scale statefulset/redis --replicas=3
kubectl -n redis rollout status statefulset/redis --timeout=120s
until_true 30 linked
until_true 10 holds 2 stock 8`,
    )
    await at.step("Deleting", 120, "kubectl delete namespace redis --timeout=100s")
  },
}
