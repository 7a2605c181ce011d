export const SOME_PODS = 20
export const MANY_PODS = 4980

const deployment = (name: string, replicas: number, pod: object) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, labels: { app: name } },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name, tier: "backend" } }, spec: pod },
  },
})

const container = {
  name: "web",
  image: "k3ts.local/web:1",
  args: ["--port=8080"],
  ports: [{ containerPort: 8080, name: "http" }],
  env: [
    { name: "MODE", value: "fast" },
    { name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
  ],
  resources: { requests: { cpu: "10m", memory: "16Mi" }, limits: { memory: "64Mi" } },
  readinessProbe: { httpGet: { path: "/healthz", port: 8080 }, periodSeconds: 5 },
  volumeMounts: [{ name: "data", mountPath: "/data" }],
}

const spec = { containers: [container], volumes: [{ name: "data", emptyDir: {} }] }

/** Pods of a small namespace, and those that make a large list; there is no node to run them. */
export const WEB = deployment("web", SOME_PODS, spec)
export const LARGE = deployment("large", MANY_PODS, spec)

/** 200 objects to apply, ConfigMaps and Deployments in turn; none makes a pod. */
export const objects = (namespace: string): readonly object[] =>
  Array.from({ length: 200 }, (_, index) => {
    const name = `applied-${index}`
    const metadata = { name, namespace, labels: { applied: "true" } }
    if (index % 2 === 1) return { ...deployment(name, 0, spec), metadata }
    const data = { "a.conf": `number ${index}\n`, mode: "fast", text: "one line\nand another\n" }
    return { apiVersion: "v1", kind: "ConfigMap", metadata, data }
  })
