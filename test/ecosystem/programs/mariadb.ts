import { debianImage } from "../debian-image.ts"
import type { Program } from "../program.ts"

/** One server, after MariaDB's documentation of its image: an empty data directory is initialized first. */
const MARIADB = `apiVersion: v1
kind: Namespace
metadata: { name: shop }
---
apiVersion: v1
kind: Secret
metadata: { name: mariadb, namespace: shop }
stringData: { password: opensesame }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: mariadb, namespace: shop }
data:
  prepare.sh: |
    [ -d /data/mysql ] && exit 0
    mariadb-install-db --no-defaults --datadir=/data --auth-root-authentication-method=normal --skip-test-db
    printf "%s\\n" "CREATE DATABASE shop;" "CREATE USER shop@'%' IDENTIFIED BY '$PASSWORD';" \\
      "GRANT ALL ON shop.* TO shop@'%';" | mariadbd --no-defaults --datadir=/data --bootstrap --skip-grant-tables=0
---
apiVersion: v1
kind: Service
metadata: { name: mariadb, namespace: shop }
spec: { clusterIP: None, selector: { app: mariadb }, ports: [{ name: mysql, port: 3306 }] }
---
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: mariadb, namespace: shop }
spec:
  serviceName: mariadb
  selector: { matchLabels: { app: mariadb } }
  template:
    metadata: { labels: { app: mariadb } }
    spec:
      securityContext: { runAsUser: 101, runAsGroup: 101, fsGroup: 101, runAsNonRoot: true }
      initContainers:
        - name: prepare
          image: docker.io/library/mariadb:10.11
          command: [sh, /scripts/prepare.sh]
          env: [{ name: PASSWORD, valueFrom: { secretKeyRef: { name: mariadb, key: password } } }]
          volumeMounts:
            - { name: data, mountPath: /data }
            - { name: scripts, mountPath: /scripts }
            - { name: tmp, mountPath: /tmp }
      containers:
        - name: mariadb
          image: docker.io/library/mariadb:10.11
          command: [mariadbd, --no-defaults, --datadir=/data, --socket=/tmp/mysql.sock, --plugin-dir=/usr/lib/mysql/plugin]
          ports: [{ name: mysql, containerPort: 3306 }]
          env: [{ name: MYSQL_PWD, valueFrom: { secretKeyRef: { name: mariadb, key: password } } }]
          readinessProbe: { exec: { command: [mariadb, --no-defaults, -h127.0.0.1, -ushop, -eselect 1] }, periodSeconds: 2 }
          livenessProbe: { tcpSocket: { port: mysql }, initialDelaySeconds: 5 }
          resources: { requests: { cpu: 10m, memory: 128Mi }, limits: { memory: 512Mi } }
          volumeMounts:
            - { name: data, mountPath: /data }
            - { name: tmp, mountPath: /tmp }
      volumes:
        - { name: scripts, configMap: { name: mariadb } }
        - { name: tmp, emptyDir: {} }
  volumeClaimTemplates:
    - metadata: { name: data }
      spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 512Mi } } }
`

const SQL = `sql() { kubectl -n shop exec -i mariadb-0 -c mariadb -- mariadb --no-defaults -hmariadb-0.mariadb -ushop shop -N "$@"; }
`

export const mariadb: Program = {
  name: "mariadb",
  from: [
    {
      kind: "debian",
      package: "mariadb-server-core",
      version: "1:10.11.14-0+deb12u2",
      sha256: "8d7ac7a136148bbcd1dc7dfe2e61b464ef17fe2470fdca7841645832f51e3166",
      libraries: [
        ...["mariadb-client-core", "libpcre2-8-0", "libcrypt1", "liburing2", "libnuma1", "libsystemd0", "zlib1g"],
        ...["libssl3", "libstdc++6", "libgcc-s1", "libc6", "libcap2", "libgcrypt20", "liblzma5", "libzstd1"],
        ...["liblz4-1", "libgpg-error0", "libedit2", "libncurses6", "libtinfo6", "libbsd0", "libmd0"],
      ],
    },
  ],
  shows:
    "a StatefulSet on a claim, initialized by an init container: rows that were committed outlive the end of the server without notice, and a rolling restart; dumped and loaded by `kubectl exec`",
  on: "node",
  images: (had) => [
    debianImage({
      name: "docker.io/library/mariadb:10.11",
      root: had.folder("mariadb-server-core"),
      user: { name: "mysql", id: 101, home: "/data" },
      writable: ["data"],
    }),
  ],
  async run(at) {
    at.write("mariadb.yaml", MARIADB)
    await at.step(
      "Installing",
      240,
      `${SQL}kubectl apply -f mariadb.yaml
kubectl -n shop rollout status statefulset/mariadb --timeout=200s
sql -e "CREATE TABLE orders (id INT PRIMARY KEY, name TEXT)"
seq 1 500 | sed "s/.*/INSERT INTO orders VALUES (&, 'order &');/" | sql
same 500 "$(sql -e 'SELECT COUNT(*) FROM orders')"`,
    )
    await at.step(
      "Ending the server without notice",
      150,
      `${SQL}kubectl -n shop delete pod mariadb-0 --force --grace-period=0
until_true 90 kubectl -n shop wait pod mariadb-0 --for=condition=Ready --timeout=60s
same 500 "$(sql -e 'SELECT COUNT(*) FROM orders')"`,
    )
    await at.step(
      "Dumping, changing the template, and loading",
      240,
      `${SQL}sql -e "SELECT CONCAT('INSERT INTO orders VALUES (', id, ', ', QUOTE(name), ');') FROM orders" > dump.sql
same 500 "$(wc -l < dump.sql)"
sql -e 'DELETE FROM orders'
kubectl -n shop patch statefulset mariadb -p '{"spec":{"template":{"metadata":{"annotations":{"changed":"yes"}}}}}'
kubectl -n shop rollout status statefulset/mariadb --timeout=200s
same 0 "$(sql -e 'SELECT COUNT(*) FROM orders')"
sql < dump.sql
same 'order 500' "$(sql -e 'SELECT name FROM orders WHERE id = 500')"`,
    )
    await at.step("Deleting", 120, "kubectl delete namespace shop --timeout=100s")
  },
}
