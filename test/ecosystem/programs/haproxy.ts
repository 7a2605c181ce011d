import { debianImage } from "../debian-image.ts"
import type { Program } from "../program.ts"

/** HAProxy as a balancer that finds its servers by SRV records, after its documentation. */
const HAPROXY = `apiVersion: v1
kind: Namespace
metadata: { name: edge }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: haproxy, namespace: edge }
data:
  haproxy.cfg: |
    global
      master-worker
      log stdout format raw local0
      stats socket /tmp/admin.sock mode 600 level admin
    defaults
      mode http
      log global
      option httplog
      retries 3
      option redispatch
      timeout connect 2s
      timeout client 10s
      timeout server 10s
    resolvers cluster
      parse-resolv-conf
      accepted_payload_size 8192
      hold valid 2s
      hold obsolete 2s
      hold other 10s
      timeout resolve 1s
    frontend public
      bind :8081
      default_backend web
    backend web
      balance roundrobin
      option httpchk GET /
      option forwardfor
      server-template web 6 _http._tcp.web.edge.svc.cluster.local resolvers cluster check inter 1s init-addr none
    frontend stats
      bind :8404
      http-request use-service prometheus-exporter if { path /metrics }
      stats enable
      stats uri /
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: haproxy, namespace: edge }
spec:
  replicas: 2
  selector: { matchLabels: { app: haproxy } }
  template:
    metadata: { labels: { app: haproxy } }
    spec:
      securityContext: { runAsUser: 99, runAsGroup: 99, runAsNonRoot: true, sysctls: [{ name: net.ipv4.ip_unprivileged_port_start, value: "0" }] }
      containers:
        - name: haproxy
          image: docker.io/library/haproxy:2.6.12
          command: [haproxy, -W, -db, -f, /etc/haproxy/haproxy.cfg]
          ports:
            - { name: http, containerPort: 8081 }
            - { name: stats, containerPort: 8404 }
          readinessProbe: { httpGet: { path: /metrics, port: stats }, periodSeconds: 1 }
          lifecycle: { preStop: { sleep: { seconds: 2 } } }
          resources: { requests: { cpu: 20m, memory: 32Mi }, limits: { memory: 256Mi } }
          volumeMounts: [{ name: config, mountPath: /etc/haproxy }]
      volumes: [{ name: config, configMap: { name: haproxy } }]
---
apiVersion: v1
kind: Service
metadata: { name: haproxy, namespace: edge }
spec:
  type: LoadBalancer
  externalTrafficPolicy: Local
  selector: { app: haproxy }
  ports:
    - { name: http, port: 8181, targetPort: http }
    - { name: stats, port: 8404, targetPort: stats }
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: edge }
spec:
  clusterIP: None
  selector: { app: web }
  ports: [{ name: http, port: 80, targetPort: http }]
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, namespace: edge }
spec:
  replicas: 3
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      containers:
        - name: web
          image: k3ts.local/busybox:1
          command: [sh, -c, "mkdir /tmp/www && hostname > /tmp/www/index.html && exec httpd -f -p 8080 -h /tmp/www"]
          ports: [{ name: http, containerPort: 8080 }]
          readinessProbe: { httpGet: { path: /, port: http }, periodSeconds: 1 }
          lifecycle: { preStop: { sleep: { seconds: 5 } } }
`

const ASK = `address=$(kubectl -n edge get service haproxy -o jsonpath='{.status.loadBalancer.ingress[0].ip}')
ask() { curl -sf --max-time 5 "http://$address:8181/"; }
# the servers that answer, in a number of requests
answering() { for _ in $(seq 1 "$1"); do ask; done | sort -u | wc -l; }
answers() { [ "$(answering 24)" = "$1" ]; }
# up COUNT: how many servers each of the two balancers has
up() {
  for pod in $(kubectl -n edge get pods -l app=haproxy -o jsonpath='{.items[*].metadata.name}'); do
    stats=$(kubectl get --raw "/api/v1/namespaces/edge/pods/$pod:8404/proxy/;csv")
    [ "$(printf '%s\\n' "$stats" | awk -F, '$1 == "web" && $2 ~ /^web/ && $18 ~ /^UP/' | wc -l)" = "$1" ] || return 1
  done
}
`

export const haproxy: Program = {
  name: "haproxy",
  from: [
    {
      kind: "debian",
      package: "haproxy",
      version: "2.6.12-1+deb12u3",
      sha256: "c8fa07420a78bfc47544b2a46e97151a8a12c3b4db62de610b2e37e78506f465",
      libraries: [
        ...["libc6", "libcap2", "libcrypt1", "libssl3", "liblua5.3-0", "libopentracing-c-wrapper0", "libopentracing1"],
        ...["libpcre2-8-0", "libsystemd0", "libgcrypt20", "libgpg-error0", "liblz4-1", "liblzma5", "libzstd1"],
        ...["libstdc++6", "libgcc-s1"],
      ],
    },
  ],
  shows:
    "a balancer behind a LoadBalancer that finds its servers by SRV records: they are followed up and down, a rolling restart of either loses no request, a changed ConfigMap arrives and is reloaded",
  on: "node",
  images: (had) => [
    debianImage({
      name: "docker.io/library/haproxy:2.6.12",
      root: had.folder("haproxy"),
      user: { name: "haproxy", id: 99, home: "/tmp" },
      writable: [],
    }),
  ],
  async run(at) {
    at.write("haproxy.yaml", HAPROXY)
    await at.step(
      "Installing",
      180,
      `kubectl apply -f haproxy.yaml
kubectl -n edge rollout status deployment/web --timeout=60s
kubectl -n edge rollout status deployment/haproxy --timeout=60s
until_true 60 sh -c '[ -n "$(kubectl -n edge get service haproxy -o jsonpath="{.status.loadBalancer.ingress[0].ip}")" ]'
${ASK}until_true 60 up 3
until_true 30 answers 3`,
    )
    await at.step(
      "Following the servers up and down",
      180,
      `${ASK}kubectl -n edge scale deployment/web --replicas=5
kubectl -n edge rollout status deployment/web --timeout=60s
until_true 60 up 5
until_true 30 answers 5
kubectl -n edge scale deployment/web --replicas=2
until_true 60 up 2
until_true 30 answers 2`,
    )
    await at.step(
      "Restarting the servers, then the balancers, under requests",
      300,
      `${ASK}touch going
(while [ -e going ]; do ask >> answers.txt || echo lost >> lost.txt; sleep 0.05; done) &
kubectl -n edge rollout restart deployment/web
kubectl -n edge rollout status deployment/web --timeout=100s
until_true 60 up 2
kubectl -n edge rollout restart deployment/haproxy
kubectl -n edge rollout status deployment/haproxy --timeout=100s
until_true 60 sh -c '[ "$(kubectl -n edge get pods -l app=haproxy -o name | wc -l)" = 2 ]'
until_true 60 up 2
rm going
wait
[ "$(wc -l < answers.txt)" -gt 50 ] || fail "only $(wc -l < answers.txt) answers"
[ ! -e lost.txt ] || fail "$(wc -l < lost.txt) requests of $(wc -l < answers.txt) were lost"`,
    )
    await at.step(
      "Changing the configuration, and reloading it",
      240,
      `${ASK}sed 's/option forwardfor/option forwardfor\\n      http-response set-header x-edge second/' haproxy.yaml | kubectl apply -f -
pods=$(kubectl -n edge get pods -l app=haproxy -o jsonpath='{.items[*].metadata.name}')
for pod in $pods; do
  until_true 120 kubectl -n edge exec "$pod" -- grep -q x-edge /etc/haproxy/haproxy.cfg
  kubectl -n edge exec "$pod" -- kill -USR2 1
done
second() { curl -sfi --max-time 5 "http://$address:8181/" | grep -qi '^x-edge: second'; }
for _ in 1 2 3 4 5 6; do until_true 30 second; done
for pod in $pods; do same 0 "$(kubectl -n edge get pod "$pod" -o jsonpath='{.status.containerStatuses[0].restartCount}')"; done`,
    )
    await at.step("Deleting", 120, "kubectl delete namespace edge --timeout=100s")
  },
}
