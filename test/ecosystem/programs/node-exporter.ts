import { programImage } from "../program-image.ts"
import type { Program } from "../program.ts"
import { HELM } from "./helm.ts"

const CHARTS = "prometheus-community/helm-charts"

export const nodeExporter: Program = {
  name: "node-exporter",
  from: [
    {
      kind: "go",
      module: "github.com/prometheus/node_exporter",
      version: "v1.12.1",
      sum: "h1:LzcZ6SqJRH2EULBz3Paa1t1uzQaaoo9domuz8FQDkiY=",
      program: "node_exporter",
    },
    HELM,
  ],
  shows: "its chart: the DaemonSet is ready, tells of CPU, memory, disks and interfaces of the node",
  on: "node",
  checkouts: [CHARTS],
  images: (had) => [
    programImage({
      name: "quay.io/prometheus/node-exporter:v1.12.1",
      program: had.program("node_exporter"),
      as: "node_exporter",
      user: "nobody",
    }),
  ],
  async run(at) {
    await at.step(
      "Installing",
      180,
      `helm install node-exporter ${at.source(CHARTS, "charts/prometheus-node-exporter")} -n monitoring --create-namespace \\
  --set image.tag=v1.12.1 --wait --timeout 2m
kubectl -n monitoring rollout status daemonset/node-exporter-prometheus-node-exporter --timeout=60s`,
    )
    await at.step(
      "Reading its metrics",
      60,
      `kubectl get --raw /api/v1/namespaces/monitoring/services/node-exporter-prometheus-node-exporter:9100/proxy/metrics > metrics.txt
for name in node_cpu_seconds_total node_memory_MemAvailable_bytes node_filesystem_avail_bytes node_network_receive_bytes_total node_uname_info node_load1; do
  grep -q "^$name" metrics.txt || fail "no $name"
done`,
    )
    await at.step(
      "Uninstalling",
      90,
      "helm uninstall node-exporter -n monitoring --wait && kubectl delete namespace monitoring --timeout=60s",
    )
  },
}
