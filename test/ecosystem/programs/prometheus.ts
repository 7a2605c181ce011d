import { debianImage } from "../debian-image.ts"
import type { Program } from "../program.ts"

/** The scrape jobs of docs/observability.md. Debian builds it without Kubernetes' discovery: targets are named. */
const MANIFEST = `apiVersion: v1
kind: Namespace
metadata: { name: monitoring }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: prometheus, namespace: monitoring }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: prometheus }
rules:
  - { apiGroups: [""], resources: [nodes/metrics], verbs: [get] }
  - { nonResourceURLs: [/metrics, /metrics/cadvisor, /metrics/slis, /metrics/resources], verbs: [get] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: prometheus }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: prometheus }
subjects: [{ kind: ServiceAccount, name: prometheus, namespace: monitoring }]
---
apiVersion: v1
kind: ConfigMap
metadata: { name: prometheus, namespace: monitoring }
data:
  prometheus.yml: |
    global: { scrape_interval: 2s, evaluation_interval: 2s }
    rule_files: [/etc/prometheus/rules.yml]
    scrape_configs:
      - &secure
        job_name: kube-apiserver
        scheme: https
        authorization: { credentials_file: /var/run/secrets/kubernetes.io/serviceaccount/token }
        tls_config: { ca_file: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt }
        static_configs: [{ targets: ["kubernetes.default.svc:443"] }]
      - { <<: *secure, job_name: slis, metrics_path: /metrics/slis }
      - { <<: *secure, job_name: resources, metrics_path: /metrics/resources }
      - &node
        job_name: kubelet
        scheme: https
        authorization: { credentials_file: /var/run/secrets/kubernetes.io/serviceaccount/token }
        tls_config: { ca_file: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt }
        static_configs: [{ targets: ["NODE:10250"] }]
      - { <<: *node, job_name: cadvisor, metrics_path: /metrics/cadvisor }
      - { <<: *node, job_name: resource, metrics_path: /metrics/resource }
      - { <<: *node, job_name: probes, metrics_path: /metrics/probes }
      - job_name: prometheus
        dns_sd_configs: [{ names: [prometheus.monitoring.svc.cluster.local], type: A, port: 9090, refresh_interval: 2s }]
  rules.yml: |
    groups:
      - name: cluster
        rules:
          - { record: "pods:memory", expr: 'sum by (namespace) (container_memory_working_set_bytes{pod!="",container!=""})' }
          - { alert: Absent, expr: 'absent(up{job="kube-apiserver"})' }
          - { alert: TargetDown, expr: up == 0 }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: prometheus, namespace: monitoring }
spec:
  selector: { matchLabels: { app: prometheus } }
  template:
    metadata: { labels: { app: prometheus } }
    spec:
      serviceAccountName: prometheus
      securityContext: { runAsUser: 102, runAsGroup: 102, fsGroup: 102, runAsNonRoot: true }
      terminationGracePeriodSeconds: 10
      containers:
        - name: prometheus
          image: docker.io/prom/prometheus:v2.42.0
          command: [prometheus, --config.file=/etc/prometheus/prometheus.yml, --storage.tsdb.path=/data]
          ports: [{ name: web, containerPort: 9090 }]
          resources: { requests: { cpu: 50m, memory: 64Mi } }
          readinessProbe: { httpGet: { path: /-/ready, port: web }, periodSeconds: 1 }
          volumeMounts:
            - { name: config, mountPath: /etc/prometheus }
            - { name: data, mountPath: /data }
      volumes:
        - { name: config, configMap: { name: prometheus } }
        - { name: data, emptyDir: {} }
---
apiVersion: v1
kind: Service
metadata: { name: prometheus, namespace: monitoring }
spec: { selector: { app: prometheus }, ports: [{ name: web, port: 9090, targetPort: web }] }
`

const ASK = `api() { kubectl get --raw "/api/v1/namespaces/monitoring/services/prometheus:9090/proxy/api/v1/$1"; }
# value QUERY: the first value
value() { api "query?query=$(printf %s "$1" | jq -sRr @uri)" | jq -r '.data.result[0].value[1] // "none"'; }
is() { [ "$(value "$1")" = "$2" ]; }
`

export const prometheus: Program = {
  name: "prometheus",
  from: [
    {
      kind: "debian",
      package: "prometheus",
      version: "2.42.0+ds-5+b6",
      sha256: "3b0e0255b059a7696bd4a139a4a4eb24d71df067936a61ece5093559cbc7991c",
      libraries: ["libc6"],
    },
  ],
  shows:
    "the API server and each path of the kubelet are scraped with its account's token, itself by its name in DNS; no series is twice in a scrape, a rule records, no alert fires",
  on: "node",
  images: (had) => [
    debianImage({
      name: "docker.io/prom/prometheus:v2.42.0",
      root: had.folder("prometheus"),
      user: { name: "prometheus", id: 102, home: "/data" },
      writable: ["data"],
    }),
  ],
  async run(at) {
    at.write("prometheus.yaml", MANIFEST)
    await at.step(
      "Installing",
      150,
      `sed -i "s/NODE/$(kubectl get nodes -o jsonpath='{.items[0].status.addresses[0].address}')/" prometheus.yaml
kubectl apply -f prometheus.yaml
kubectl -n monitoring rollout status deployment/prometheus --timeout=120s`,
    )
    await at.step(
      "Scraping everything",
      120,
      `${ASK}jobs() { [ "$(value 'count(count by (job) (up == 1))')" = 8 ]; }
until_true 60 jobs || true
api targets | jq -r '.data.activeTargets[] | "\\(.labels.job) \\(.health) \\(.lastError)"' | sort -u
jobs || fail "not all jobs are up"
for name in apiserver_request_total scheduler_schedule_attempts_total workqueue_adds_total kubelet_running_pods container_cpu_usage_seconds_total pod_memory_working_set_bytes kubernetes_healthcheck kube_pod_resource_request; do
  [ "$(value "count($name)")" != none ] || fail "no $name"
done
until_true 30 is 'count(pods:memory{namespace="monitoring"})' 1`,
    )
    await at.step(
      "Looking for samples that Prometheus could not take",
      60,
      `${ASK}for name in duplicate_timestamp out_of_order out_of_bounds; do
  same 0 "$(value "sum(prometheus_target_scrapes_sample_\${name}_total{job=\\"prometheus\\"})")"
done
same '[]' "$(api alerts | jq -c .data.alerts)"`,
    )
    await at.step("Deleting", 90, "kubectl delete -f prometheus.yaml --timeout=80s")
  },
}
