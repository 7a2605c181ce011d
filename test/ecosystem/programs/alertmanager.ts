import { debianImage } from "../debian-image.ts"
import type { Program } from "../program.ts"

/** Three peers, after Alertmanager's documentation of high availability. */
const ALERTMANAGER = `apiVersion: v1
kind: Namespace
metadata: { name: monitoring }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: alertmanager, namespace: monitoring }
data: { alertmanager.yml: "{ route: { receiver: none }, receivers: [{ name: none }] }" }
---
apiVersion: v1
kind: Service
metadata: { name: alertmanager, namespace: monitoring }
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector: { app: alertmanager }
  ports: [{ name: web, port: 9093 }, { name: mesh, port: 9094 }, { name: mesh-udp, port: 9094, protocol: UDP }]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: alertmanager, namespace: monitoring }
spec:
  serviceName: alertmanager
  replicas: 3
  podManagementPolicy: Parallel
  selector: { matchLabels: { app: alertmanager } }
  template:
    metadata: { labels: { app: alertmanager } }
    spec:
      securityContext: { runAsUser: 103, runAsGroup: 103, fsGroup: 103, runAsNonRoot: true }
      containers:
        - name: alertmanager
          image: docker.io/prom/alertmanager:v0.25.0
          command: [prometheus-alertmanager]
          args:
            - --config.file=/etc/alertmanager/alertmanager.yml
            - --storage.path=/data
            - --cluster.listen-address=$(IP):9094
            - --cluster.peer=alertmanager-0.alertmanager:9094
            - --cluster.peer=alertmanager-1.alertmanager:9094
            - --cluster.peer=alertmanager-2.alertmanager:9094
          env: [{ name: IP, valueFrom: { fieldRef: { fieldPath: status.podIP } } }]
          ports: [{ name: web, containerPort: 9093 }]
          readinessProbe: { httpGet: { path: /-/ready, port: web }, periodSeconds: 1 }
          volumeMounts:
            - { name: data, mountPath: /data }
            - { name: config, mountPath: /etc/alertmanager }
      volumes: [{ name: config, configMap: { name: alertmanager } }]
  volumeClaimTemplates:
    - metadata: { name: data }
      spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 50Mi } } }
`

const ASK = `api() { kubectl get --raw "/api/v1/namespaces/monitoring/pods/alertmanager-$1:9093/proxy/api/v2/$2"; }
peers() { for n in 0 1 2; do [ "$(api $n status | jq '.cluster.peers | length')" = 3 ] || return 1; done; }
# suppressed PEER: how many alerts are silenced, as a peer knows it
suppressed() { api "$1" alerts | jq '[.[] | select(.status.state == "suppressed")] | length'; }
silent() { [ "$(suppressed "$1")" = 1 ]; }
`

export const alertmanager: Program = {
  name: "alertmanager",
  from: [
    {
      kind: "debian",
      package: "prometheus-alertmanager",
      version: "0.25.0-1+b4",
      sha256: "4fb9aed15cfe8e0c32408e643ab32a1e41ee87d2cc26f18aeba928b1b0b98ae7",
      libraries: ["libc6"],
    },
  ],
  shows:
    "three peers that find each other by the names of their pods, by TCP and UDP: a silence of one is known to all, and after a rolling restart",
  on: "node",
  images: (had) => [
    debianImage({
      name: "docker.io/prom/alertmanager:v0.25.0",
      root: had.folder("prometheus-alertmanager"),
      user: { name: "alertmanager", id: 103, home: "/data" },
      writable: ["data"],
    }),
  ],
  async run(at) {
    at.write("alertmanager.yaml", ALERTMANAGER)
    at.write("alert.json", '[{"labels":{"alertname":"Full","disk":"a"}}]')
    await at.step(
      "Installing",
      180,
      `${ASK}kubectl apply -f alertmanager.yaml
kubectl -n monitoring rollout status statefulset/alertmanager --timeout=120s
until_true 90 peers`,
    )
    await at.step(
      "Silencing an alert at one peer",
      90,
      `${ASK}for n in 0 1 2; do
  kubectl create --raw "/api/v1/namespaces/monitoring/pods/alertmanager-$n:9093/proxy/api/v2/alerts" -f alert.json
done
jq -n '{matchers: [{name: "alertname", value: "Full", isRegex: false}], startsAt: (now | todate), endsAt: (now + 3600 | todate), createdBy: "me", comment: "known"}' > silence.json
kubectl create --raw /api/v1/namespaces/monitoring/pods/alertmanager-1:9093/proxy/api/v2/silences -f silence.json
for n in 0 1 2; do until_true 30 silent $n; done`,
    )
    await at.step(
      "Restarting them one by one",
      240,
      `${ASK}kubectl -n monitoring rollout restart statefulset/alertmanager
kubectl -n monitoring rollout status statefulset/alertmanager --timeout=200s
until_true 90 peers
for n in 0 1 2; do same 1 "$(api $n silences | jq length)"; done`,
    )
    await at.step("Deleting", 120, "kubectl delete namespace monitoring --timeout=100s")
  },
}
