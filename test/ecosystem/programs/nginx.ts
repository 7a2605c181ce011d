import { debianImage } from "../debian-image.ts"
import type { Program } from "../program.ts"

/** A shop's front and its API, each nginx, behind an Ingress. */
const SHOP = `apiVersion: v1
kind: Namespace
metadata: { name: shop, labels: { pod-security.kubernetes.io/enforce: restricted } }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: nginx, namespace: shop }
data:
  nginx.conf: |
    pid /tmp/nginx.pid;
    error_log /dev/stderr info;
    worker_processes 1;
    events { worker_connections 256; }
    http {
      include /etc/nginx/mime.types;
      access_log /dev/stdout;
      client_body_temp_path /tmp/body;
      proxy_temp_path /tmp/proxy;
      fastcgi_temp_path /tmp/fastcgi;
      uwsgi_temp_path /tmp/uwsgi;
      scgi_temp_path /tmp/scgi;
      keepalive_timeout 5s;
      include /etc/nginx/conf.d/*.conf;
    }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: front, namespace: shop }
data:
  site.conf: |
    server {
      listen 8080;
      location = /healthz { access_log off; return 200 "ok"; }
      location / { root /usr/share/nginx/html; }
      location /api/ {
        proxy_set_header Host $host;
        proxy_set_header X-Forwarded-Proto $http_x_forwarded_proto;
        proxy_next_upstream error timeout http_502;
        proxy_pass http://api.shop.svc.cluster.local/;
      }
    }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: api, namespace: shop }
data:
  site.conf: |
    server {
      listen 8080;
      location = /healthz { access_log off; return 200 "ok"; }
      location / { default_type application/json; return 200 '{"pod":"$hostname","path":"$request_uri","proto":"$http_x_forwarded_proto","version":"VERSION"}'; }
    }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: front, namespace: shop }
spec:
  replicas: 2
  strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } }
  selector: { matchLabels: { app: front } }
  template:
    metadata: { labels: { app: front } }
    spec:
      securityContext: { runAsUser: 33, runAsGroup: 33, runAsNonRoot: true, seccompProfile: { type: RuntimeDefault } }
      topologySpreadConstraints: [{ maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: { matchLabels: { app: front } } }]
      containers:
        - name: nginx
          image: docker.io/library/nginx:1.22.1
          command: [nginx, -g, daemon off;]
          ports: [{ name: http, containerPort: 8080 }]
          startupProbe: { httpGet: { path: /healthz, port: http }, periodSeconds: 1 }
          readinessProbe: { httpGet: { path: /healthz, port: http }, periodSeconds: 1 }
          lifecycle: { preStop: { exec: { command: [sh, -c, "sleep 3; nginx -s quit; sleep 2"] } } }
          resources: { requests: { cpu: 10m, memory: 16Mi }, limits: { memory: 64Mi } }
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: [ALL] }, readOnlyRootFilesystem: true }
          volumeMounts:
            - { name: nginx, mountPath: /etc/nginx/nginx.conf, subPath: nginx.conf }
            - { name: site, mountPath: /etc/nginx/conf.d }
            - { name: tmp, mountPath: /tmp }
      volumes:
        - { name: nginx, configMap: { name: nginx } }
        - { name: site, configMap: { name: front } }
        - { name: tmp, emptyDir: { sizeLimit: 8Mi } }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: api, namespace: shop }
spec:
  replicas: 2
  strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } }
  selector: { matchLabels: { app: api } }
  template:
    metadata: { labels: { app: api } }
    spec:
      securityContext: { runAsUser: 33, runAsGroup: 33, runAsNonRoot: true, seccompProfile: { type: RuntimeDefault } }
      containers:
        - name: nginx
          image: docker.io/library/nginx:1.22.1
          command: [nginx, -g, daemon off;]
          ports: [{ name: http, containerPort: 8080 }]
          readinessProbe: { httpGet: { path: /healthz, port: http }, periodSeconds: 1 }
          lifecycle: { preStop: { exec: { command: [sh, -c, "sleep 3; nginx -s quit; sleep 2"] } } }
          resources: { requests: { cpu: 10m, memory: 16Mi }, limits: { memory: 64Mi } }
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: [ALL] }, readOnlyRootFilesystem: true }
          volumeMounts:
            - { name: nginx, mountPath: /etc/nginx/nginx.conf, subPath: nginx.conf }
            - { name: site, mountPath: /etc/nginx/conf.d }
            - { name: tmp, mountPath: /tmp }
      volumes:
        - { name: nginx, configMap: { name: nginx } }
        - { name: site, configMap: { name: api } }
        - { name: tmp, emptyDir: {} }
---
apiVersion: v1
kind: Service
metadata: { name: front, namespace: shop }
spec: { selector: { app: front }, ports: [{ name: http, port: 80, targetPort: http }] }
---
apiVersion: v1
kind: Service
metadata: { name: api, namespace: shop }
spec: { selector: { app: api }, ports: [{ name: http, port: 80, targetPort: http }] }
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: { name: front, namespace: shop }
spec: { minAvailable: 1, selector: { matchLabels: { app: front } } }
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: api, namespace: shop }
spec:
  podSelector: { matchLabels: { app: api } }
  ingress: [{ from: [{ podSelector: { matchLabels: { app: front } } }], ports: [{ port: http }] }]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: shop, namespace: shop }
spec:
  tls: [{ hosts: [shop.example.com], secretName: shop-tls }]
  rules:
    - host: shop.example.com
      http: { paths: [{ path: /, pathType: Prefix, backend: { service: { name: front, port: { name: http } } } }] }
`

const ASK = `address=$(kubectl -n shop get ingress shop -o jsonpath='{.status.loadBalancer.ingress[0].ip}')
ask() { curl -sf --max-time 5 --cacert ca.crt --resolve "shop.example.com:443:$address" "https://shop.example.com$1"; }
versions() { [ "$(for _ in 1 2 3 4 5 6 7 8; do ask /api/ | jq -r .version; done | sort -u)" = "$1" ]; }
`

export const nginx: Program = {
  name: "nginx",
  from: [
    {
      kind: "debian",
      package: "nginx",
      version: "1.22.1-9+deb12u7",
      sha256: "28be5ecfbd760c554abbf759de86d027382d21e2890936edb28ed1053657318f",
      libraries: ["nginx-common", "libc6", "libcrypt1", "libpcre2-8-0", "libssl3", "zlib1g"],
    },
  ],
  shows:
    "a front and an API, in a namespace of the level restricted, behind an Ingress with TLS: no request is lost over rolling updates, a rollback and a drain that a budget slows down; a NetworkPolicy keeps others from the API",
  on: "node",
  images: (had) => [
    debianImage({
      name: "docker.io/library/nginx:1.22.1",
      root: had.folder("nginx"),
      user: { name: "www-data", id: 33, home: "/tmp" },
      writable: ["var/lib/nginx"],
    }),
  ],
  async run(at) {
    at.write("shop.yaml", SHOP)
    await at.step(
      "Installing",
      180,
      `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout tls.key -out ca.crt -days 2 \\
  -subj /CN=shop.example.com -addext subjectAltName=DNS:shop.example.com
sed 's/VERSION/first/' shop.yaml | kubectl apply -f -
kubectl -n shop create secret tls shop-tls --cert=ca.crt --key=tls.key
kubectl -n shop rollout status deployment/api --timeout=90s
kubectl -n shop rollout status deployment/front --timeout=90s
until_true 60 sh -c '[ -n "$(kubectl -n shop get ingress shop -o jsonpath="{.status.loadBalancer.ingress[0].ip}")" ]'
${ASK}until_true 30 ask /
has "$(ask /)" 'Welcome to nginx'
same https "$(ask /api/x | jq -r .proto)"
same /x "$(ask /api/x | jq -r .path)"`,
    )
    await at.step(
      "Keeping others from the API",
      60,
      `cat > stranger.json <<EOF
{"spec":{"securityContext":{"runAsUser":1000,"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"}},"containers":[{"name":"stranger","image":"k3ts.local/busybox:1","command":["wget","-T","3","-qO-","http://api"],"securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}}]}}
EOF
refused=$(kubectl -n shop run stranger --image=k3ts.local/busybox:1 --restart=Never -- true 2>&1 || true)
has "$refused" 'violates PodSecurity "restricted:latest"'
kubectl -n shop run stranger --image=k3ts.local/busybox:1 --restart=Never --overrides="$(cat stranger.json)"
kubectl -n shop wait pod stranger --for=jsonpath='{.status.phase}'=Failed --timeout=30s
kubectl -n shop delete pod stranger`,
    )
    await at.step(
      "Rolling out, rolling back and draining, under requests",
      420,
      `${ASK}touch going
(while [ -e going ]; do ask /api/ >> answers.txt || echo lost >> lost.txt; sleep 0.05; done) &
sed 's/VERSION/second/' shop.yaml | kubectl apply -f -
kubectl -n shop patch deployment api -p '{"spec":{"template":{"metadata":{"annotations":{"version":"second"}}}}}'
kubectl -n shop rollout status deployment/api --timeout=90s
until_true 30 versions second
kubectl -n shop rollout restart deployment/front
kubectl -n shop rollout status deployment/front --timeout=90s
kubectl -n shop rollout undo deployment/api
kubectl -n shop rollout status deployment/api --timeout=90s
for pod in $(kubectl -n shop get pods -l app=front --field-selector=status.phase=Running -o jsonpath='{.items[*].metadata.name}'); do
  evict() { kubectl create --raw "/api/v1/namespaces/shop/pods/$pod/eviction" -f - <<EOF
{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"$pod","namespace":"shop"}}
EOF
  }
  until_true 60 evict
done
kubectl -n shop rollout status deployment/front --timeout=90s
rm going
wait
answers=$(grep -o '"pod"' answers.txt | wc -l)
[ "$answers" -gt 100 ] || fail "only $answers answers"
[ ! -e lost.txt ] || fail "$(wc -l < lost.txt) requests were lost, beside $answers"`,
    )
    await at.step("Deleting", 120, "kubectl delete namespace shop --timeout=100s")
  },
}
