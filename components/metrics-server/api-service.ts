/**
 * Registers the metrics API. Except for the Service, the spec is that of metrics-server's manifests, so that applying
 * these replaces the built-in server; when the APIService is deleted, there is no metrics API. Source: metrics-server
 * manifests/base.
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
