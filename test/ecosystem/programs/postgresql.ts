import { debianImage } from "../debian-image.ts"
import type { Program } from "../program.ts"

const ENV = `[
  { name: PATH, value: "/usr/lib/postgresql/15/bin:/usr/bin:/bin" }, { name: PGDATA, value: /data/pg },
  { name: PGPASSWORD, valueFrom: { secretKeyRef: { name: postgres, key: password } } }]`

/** A primary and a standby that streams from it, and a backup, after PostgreSQL's documentation. */
const POSTGRES = `apiVersion: v1
kind: Namespace
metadata: { name: shop }
---
apiVersion: v1
kind: Secret
metadata: { name: postgres, namespace: shop }
stringData: { password: opensesame }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: postgres, namespace: shop }
data:
  prepare.sh: |
    set -eu
    [ ! -s "$PGDATA/PG_VERSION" ] || exit 0
    if [ "$(hostname)" = postgres-0 ]; then
      printf %s "$PGPASSWORD" > /tmp/password
      initdb -U postgres --pwfile=/tmp/password --auth=scram-sha-256 --no-locale --encoding=UTF8
      printf 'host all all all scram-sha-256\\nhost replication all all scram-sha-256\\n' >> "$PGDATA/pg_hba.conf"
    else
      until pg_isready -h postgres-0.postgres; do sleep 1; done
      pg_basebackup -h postgres-0.postgres -U postgres -D "$PGDATA" -R -X stream -C -S standby
    fi
---
apiVersion: v1
kind: Service
metadata: { name: postgres, namespace: shop }
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector: { app: postgres }
  ports: [{ name: postgres, port: 5432 }]
---
apiVersion: v1
kind: Service
metadata: { name: postgres-rw, namespace: shop }
spec:
  selector: { app: postgres, statefulset.kubernetes.io/pod-name: postgres-0 }
  ports: [{ name: postgres, port: 5432 }]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: postgres, namespace: shop }
spec:
  serviceName: postgres
  replicas: 2
  selector: { matchLabels: { app: postgres } }
  template:
    metadata: { labels: { app: postgres } }
    spec:
      securityContext: { runAsUser: 103, runAsGroup: 103, fsGroup: 103, runAsNonRoot: true }
      initContainers:
        - name: prepare
          image: docker.io/library/postgres:15
          command: [sh, /etc/postgres/prepare.sh]
          env: &env ${ENV}
          volumeMounts: &mounts
            - { name: data, mountPath: /data }
            - { name: scripts, mountPath: /etc/postgres }
            - { name: tmp, mountPath: /tmp }
      containers:
        - name: postgres
          image: docker.io/library/postgres:15
          command: [postgres, -c, listen_addresses=*, -c, unix_socket_directories=/tmp, -c, shared_buffers=16MB]
          env: *env
          ports: [{ name: postgres, containerPort: 5432 }]
          readinessProbe: { exec: { command: [pg_isready, -h, /tmp, -t, "15"] }, periodSeconds: 5, timeoutSeconds: 20 }
          livenessProbe: { tcpSocket: { port: postgres }, initialDelaySeconds: 10 }
          resources: { requests: { cpu: 20m, memory: 64Mi }, limits: { memory: 256Mi } }
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: [ALL] }, readOnlyRootFilesystem: true }
          volumeMounts: *mounts
      volumes:
        - { name: scripts, configMap: { name: postgres } }
        - { name: tmp, emptyDir: { medium: Memory } }
  volumeClaimTemplates:
    - metadata: { name: data }
      spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 512Mi } } }
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: backup, namespace: shop }
spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 512Mi } } }
---
apiVersion: batch/v1
kind: CronJob
metadata: { name: backup, namespace: shop }
spec:
  schedule: "* * * * *"
  concurrencyPolicy: Forbid
  successfulJobsHistoryLimit: 1
  jobTemplate:
    spec:
      backoffLimit: 2
      template:
        spec:
          restartPolicy: Never
          securityContext: { runAsUser: 103, runAsGroup: 103, fsGroup: 103 }
          containers:
            - name: backup
              image: docker.io/library/postgres:15
              command: [sh, -c, "pg_dump -h postgres-rw -U postgres -Fc shop > /backup/new && mv /backup/new /backup/shop"]
              env: ${ENV}
              volumeMounts: [{ name: backup, mountPath: /backup }]
          volumes: [{ name: backup, persistentVolumeClaim: { claimName: backup } }]
`

const RESTORE = `apiVersion: batch/v1
kind: Job
metadata: { name: restore, namespace: shop }
spec:
  backoffLimit: 3
  template:
    spec:
      restartPolicy: Never
      securityContext: { runAsUser: 103, runAsGroup: 103, fsGroup: 103 }
      containers:
        - name: restore
          image: docker.io/library/postgres:15
          command: [sh, -c, "dropdb --if-exists -h postgres-rw -U postgres restored && createdb -h postgres-rw -U postgres restored && pg_restore -h postgres-rw -U postgres -d restored /backup/shop"]
          env: ${ENV}
          volumeMounts: [{ name: backup, mountPath: /backup, readOnly: true }]
      volumes: [{ name: backup, persistentVolumeClaim: { claimName: backup } }]
`

/** `sql POD DATABASE …` asks a server by its own name, `rw DATABASE …` by that of the Service. */
const SQL = `psql_in() { kubectl -n shop exec -i "$1" -c postgres -- psql -U postgres -v ON_ERROR_STOP=1 -qAt -h "$2" "\${@:3}"; }
sql() { psql_in "$1" "$1.postgres" "\${@:2}"; }
rw() { psql_in postgres-1 postgres-rw "$@"; }
counts() { [ "$(sql "$1" "$2" -c 'SELECT count(*) FROM orders')" = "$3" ]; }
`

/** What `postgresql-15` needs of Debian. */
export const POSTGRESQL_LIBRARIES: readonly string[] = [
  ...["postgresql-client-15", "libpq5", "libicu72", "libxml2", "libssl3", "libldap-2.5-0", "libsasl2-2", "libc6"],
  ...["libgssapi-krb5-2", "libkrb5-3", "libk5crypto3", "libkrb5support0", "libkeyutils1", "libcom-err2"],
  ...["libpam0g", "libaudit1", "libcap-ng0", "libsystemd0", "libcap2", "libgcrypt20", "libgpg-error0", "tzdata"],
  ...["liblz4-1", "liblzma5", "libzstd1", "zlib1g", "libuuid1", "libgnutls30", "libhogweed6", "libnettle8"],
  ...["libgmp10", "libidn2-0", "libp11-kit0", "libffi8", "libtasn1-6", "libunistring2", "libstdc++6"],
  ...["libgcc-s1", "libreadline8", "libtinfo6"],
]

export const postgresql: Program = {
  name: "postgresql",
  from: [
    {
      kind: "debian",
      package: "postgresql-15",
      version: "15.18-0+deb12u1",
      sha256: "6974c43ddec4f383d099e7d642cd59d0af83c2c90c0fb153a4179aa1bb4d73c1",
      libraries: POSTGRESQL_LIBRARIES,
    },
  ],
  shows:
    "a StatefulSet of a primary and a standby that streams from it: a CronJob's backup, restored by a Job; the standby promoted after the end of the primary, the Service turned to it",
  on: "node",
  images: (had) => [
    debianImage({
      name: "docker.io/library/postgres:15",
      root: had.folder("postgresql-15"),
      user: { name: "postgres", id: 103, home: "/data" },
      writable: ["data"],
    }),
  ],
  async run(at) {
    at.write("postgres.yaml", POSTGRES)
    at.write("restore.yaml", RESTORE)
    await at.step(
      "Installing, and replicating",
      420,
      `${SQL}kubectl apply -f postgres.yaml
kubectl -n shop rollout status statefulset/postgres --timeout=240s
sql postgres-0 postgres -c 'CREATE DATABASE shop'
sql postgres-0 shop -c 'CREATE TABLE orders (id int PRIMARY KEY, at timestamptz DEFAULT now())' -c 'INSERT INTO orders SELECT generate_series(1, 1000)'
until_true 30 counts postgres-1 shop 1000
same t "$(sql postgres-1 shop -c 'SELECT pg_is_in_recovery()')"
refused=$(sql postgres-1 shop -c 'DELETE FROM orders' 2>&1 || true)
has "$refused" 'cannot execute DELETE in a read-only transaction'`,
    )
    await at.step(
      "Backing up every minute, and restoring",
      330,
      `${SQL}made() { kubectl -n shop get jobs -o json | jq -e '.items[] | select(.metadata.ownerReferences[0].name == "backup" and .status.succeeded == 1)'; }
until_true 150 made
kubectl -n shop patch cronjob backup -p '{"spec":{"suspend":true}}'
kubectl apply -f restore.yaml
kubectl -n shop wait job restore --for=condition=Complete --timeout=120s
same 1000 "$(sql postgres-0 restored -c 'SELECT count(*) FROM orders')"`,
    )
    await at.step(
      "Promoting the standby",
      300,
      `${SQL}kubectl -n shop scale statefulset postgres --replicas=0
kubectl -n shop wait pod postgres-0 --for=delete --timeout=60s
kubectl -n shop scale statefulset postgres --replicas=2
kubectl -n shop patch service postgres-rw -p '{"spec":{"selector":{"statefulset.kubernetes.io/pod-name":"postgres-1"}}}'
kubectl -n shop rollout status statefulset/postgres --timeout=200s
kubectl -n shop exec postgres-1 -c postgres -- pg_ctl promote -D /data/pg
writes() { rw shop -c 'INSERT INTO orders SELECT generate_series(1001, 1500)'; }
until_true 30 writes
counts postgres-1 shop 1500
counts postgres-0 shop 1000`,
    )
    await at.step("Deleting", 120, "kubectl delete namespace shop --timeout=100s")
  },
}
