/**
 * The APIService of the metrics API, which is not stored. The chart of metrics-server, or its manifests, store one with
 * this name, and its server then answers in the place of the built-in one, until that is deleted. Source:
 * metrics-server manifests/base.
 */
export const METRICS_API_SERVICE = {
  metadata: { name: "v1beta1.metrics.k8s.io", labels: { "k8s-app": "metrics-server" } },
  spec: {
    group: "metrics.k8s.io",
    version: "v1beta1",
    groupPriorityMinimum: 100,
    versionPriority: 100,
    insecureSkipTLSVerify: true,
    service: { namespace: "kube-system", name: "k3ts-metrics", port: 443 },
  },
} as const
