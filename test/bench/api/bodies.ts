/** A pod that no scheduler sees, so that the API alone is measured. */
export const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { generateName: "bench-", labels: { app: "bench" } },
  spec: {
    schedulerName: "nobody",
    containers: [
      {
        name: "web",
        image: "k3ts.local/web:1",
        ports: [{ containerPort: 80 }],
        resources: { requests: { cpu: "10m", memory: "16Mi" } },
        env: [{ name: "A", value: "b" }],
      },
    ],
  },
}

export const CONFIG_MAP = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { generateName: "bench-" },
  data: { text: "x".repeat(500) },
}
