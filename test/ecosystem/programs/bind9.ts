import { debianImage } from "../debian-image.ts"
import type { Program } from "../program.ts"

/** A company's own name server, after BIND's documentation: a zone that it owns, and one that it keeps a copy of. */
const BIND = `apiVersion: v1
kind: Namespace
metadata: { name: names }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: bind, namespace: names }
data:
  named.conf: |
    options {
      directory "/var/cache/bind";
      pid-file "/tmp/named.pid";
      session-keyfile "/tmp/session.key";
      listen-on port 5353 { any; };
      listen-on-v6 { none; };
      recursion no;
      allow-query { any; };
      allow-transfer { 10.0.0.0/8; };
      dnssec-validation no;
    };
    key updater { algorithm hmac-sha256; secret "c2VjcmV0LW9mLXRoZS11cGRhdGVyLW9mLW5hbWVzISE="; };
    zone "corp.example" { type primary; file "/var/cache/bind/corp.zone"; allow-update { key updater; }; notify no; };
  corp.zone: |
    $TTL 5
    @     SOA ns.corp.example. admin.corp.example. 1 3600 600 86400 5
    @     NS  ns.corp.example.
    ns    A   192.0.2.1
    db    A   192.0.2.10
    db    AAAA 2001:db8::10
    alias CNAME db
    inner CNAME web.names.svc.cluster.local.
    _ldap._tcp SRV 0 5 389 db
  updater.key: |
    key updater { algorithm hmac-sha256; secret "c2VjcmV0LW9mLXRoZS11cGRhdGVyLW9mLW5hbWVzISE="; };
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: bind, namespace: names }
spec:
  selector: { matchLabels: { app: bind } }
  template:
    metadata: { labels: { app: bind } }
    spec:
      securityContext: { runAsUser: 109, runAsGroup: 109, fsGroup: 109, runAsNonRoot: true }
      terminationGracePeriodSeconds: 5
      initContainers:
        - name: zone
          image: docker.io/internetsystemsconsortium/bind9:9.18
          command: [cp, /etc/names/corp.zone, /var/cache/bind/corp.zone]
          volumeMounts: [{ name: zones, mountPath: /var/cache/bind }, { name: config, mountPath: /etc/names }]
      containers:
        - name: bind
          image: docker.io/internetsystemsconsortium/bind9:9.18
          command: [named, -g, -c, /etc/names/named.conf]
          ports: [{ name: dns, containerPort: 5353, protocol: UDP }, { name: dns-tcp, containerPort: 5353 }]
          readinessProbe: { tcpSocket: { port: dns-tcp }, periodSeconds: 1 }
          resources: { requests: { cpu: 10m, memory: 32Mi }, limits: { memory: 256Mi } }
          volumeMounts: [{ name: zones, mountPath: /var/cache/bind }, { name: config, mountPath: /etc/names }]
      volumes: [{ name: zones, emptyDir: {} }, { name: config, configMap: { name: bind } }]
---
apiVersion: v1
kind: Service
metadata: { name: bind, namespace: names }
spec:
  selector: { app: bind }
  ports: [{ name: dns, port: 53, targetPort: dns, protocol: UDP }, { name: dns-tcp, port: 53, targetPort: dns-tcp }]
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: names }
spec: { selector: { app: none }, ports: [{ port: 80 }] }
---
apiVersion: v1
kind: Pod
metadata: { name: client, namespace: names }
spec:
  terminationGracePeriodSeconds: 0
  containers:
    - name: client
      image: docker.io/internetsystemsconsortium/bind9:9.18
      command: [sleep, infinity]
      volumeMounts: [{ name: config, mountPath: /etc/names }]
  volumes: [{ name: config, configMap: { name: bind } }]
`

/** `ask NAME TYPE …`: what a pod is told by the cluster's DNS, in one line. */
const ASK = `in_pod() { kubectl -n names exec -i client -- "$@"; }
ask() { in_pod dig +short +tries=1 +time=3 "$@" | sort | tr '\\n' ' ' | sed 's/ $//'; }
told() { [ "$(ask "$1" "$2")" = "$3" ]; }
`

export const bind9: Program = {
  name: "bind9",
  from: [
    {
      kind: "debian",
      package: "bind9",
      version: "1:9.18.47-1~deb12u1",
      sha256: "6a8b9118bdbf8632315919f4394aa094d9f310068c4b85213c6db14428599098",
      libraries: [
        ...[
          "bind9-libs",
          "bind9-utils",
          "bind9-dnsutils",
          "bind9-host",
          "libc6",
          "libcap2",
          "libfstrm0",
          "libjemalloc2",
        ],
        ...["libjson-c5", "liblmdb0", "libmaxminddb0", "libnghttp2-14", "libprotobuf-c1", "libssl3", "libsystemd0"],
        ...["libuv1", "libxml2", "zlib1g", "libicu72", "liblzma5", "libgcrypt20", "libgpg-error0", "liblz4-1"],
        ...["libzstd1", "libstdc++6", "libgcc-s1", "libedit2", "libtinfo6", "libbsd0", "libmd0", "libkrb5-3"],
        ...["libgssapi-krb5-2", "libk5crypto3", "libkrb5support0", "libkeyutils1", "libcom-err2", "libidn2-0"],
        ...["libunistring2"],
      ],
    },
  ],
  shows:
    "a name server of one's own: `coredns-custom` sends a zone to its Service, records of each type and long ones by TCP reach pods, a dynamic update and a transfer work, an alias leads back into the cluster, and all ends with the ConfigMap",
  on: "node",
  images: (had) => [
    debianImage({
      name: "docker.io/internetsystemsconsortium/bind9:9.18",
      root: had.folder("bind9"),
      user: { name: "bind", id: 109, home: "/var/cache/bind" },
      writable: ["var/cache/bind"],
    }),
  ],
  async run(at) {
    at.write("bind.yaml", BIND)
    await at.step(
      "Installing, and asking the server itself",
      240,
      `${ASK}kubectl apply -f bind.yaml
kubectl -n names rollout status deployment/bind --timeout=90s
kubectl -n names wait pod client --for=condition=Ready --timeout=60s
until_true 30 in_pod dig +short +tries=1 @bind.names db.corp.example
same 192.0.2.10 "$(in_pod dig +short @bind.names.svc.cluster.local db.corp.example)"
told db.corp.example A 192.0.2.10 && fail 'the zone is known before it is sent there' || true`,
    )
    await at.step(
      "Sending the zone there from the cluster's DNS",
      240,
      `${ASK}address=$(kubectl -n names get service bind -o jsonpath='{.spec.clusterIP}')
kubectl -n kube-system create configmap coredns-custom --from-literal=corp.server="corp.example:53 {
  errors
  cache 5
  forward . $address
}"
until_true 60 told db.corp.example A 192.0.2.10
told db.corp.example AAAA 2001:db8::10
told alias.corp.example A '192.0.2.10 db.corp.example.'
told _ldap._tcp.corp.example SRV '0 5 389 db.corp.example.'
has "$(in_pod dig absent.corp.example)" 'status: NXDOMAIN'
told web.names.svc.cluster.local A "$(kubectl -n names get service web -o jsonpath='{.spec.clusterIP}')"
told inner.corp.example CNAME web.names.svc.cluster.local.
in_pod getent hosts db.corp.example || in_pod nslookup db.corp.example`,
    )
    await at.step(
      "Updating the zone, with a record that is too long for UDP",
      240,
      `${ASK}update() { printf '%s\\n' "server bind.names.svc.cluster.local" "$@" send | in_pod nsupdate -k /etc/names/updater.key; }
update 'update add new.corp.example 5 A 192.0.2.11'
until_true 30 told new.corp.example A 192.0.2.11
long=$(printf 'x%.0s' $(seq 1 200))
records=()
for n in 1 2 3 4 5 6 7 8 9; do records+=("update add long.corp.example 5 TXT $n$long"); done
update "\${records[@]}"
until_true 30 sh -c '[ "$(kubectl -n names exec client -- dig +short +noedns long.corp.example TXT | grep -c x)" = 9 ]'
refused=$(printf 'server bind.names.svc.cluster.local\\nupdate add wrong.corp.example 5 A 192.0.2.12\\nsend\\n' | in_pod nsupdate 2>&1 || true)
has "$refused" REFUSED
has "$(in_pod dig @bind.names.svc.cluster.local corp.example AXFR)" 'XFR size: '`,
    )
    await at.step(
      "Removing",
      240,
      `${ASK}kubectl -n kube-system delete configmap coredns-custom
gone() { ! told new.corp.example A 192.0.2.11; }
until_true 60 gone
kubectl delete namespace names --timeout=100s`,
    )
  },
}
