export const NS = "/api/v1/namespaces/k"
export const podOf = (name: string, more: object = {}, container: object = {}) => ({
  metadata: { name, labels: { app: name } },
  spec: { containers: [{ name: "c", image: "registry.example/c:1", ...container }], ...more },
})
