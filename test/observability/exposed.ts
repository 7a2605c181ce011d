import { request } from "node:https"
import { parse } from "yaml"
import { proxyMetrics } from "../../components/kube-proxy/metrics.ts"
import { startCluster } from "../../components/cluster/testing/testing.ts"
import { cadvisorText } from "./cadvisor.ts"
import { Registry } from "../../pkg/metrics/registry.ts"

/** Metrics by name, with the labels that their series have; no labels while there are no series. */
export type ExposedMetrics = ReadonlyMap<string, ReadonlySet<string>>

const WORKLOAD = `
apiVersion: v1
kind: PersistentVolume
metadata: { name: disk }
spec:
  capacity: { storage: 1Gi }
  accessModes: [ReadWriteOnce]
  storageClassName: disks
  local: { path: /var/log/pods } # a folder that every node has
  nodeAffinity:
    required:
      nodeSelectorTerms: [{ matchExpressions: [{ key: kubernetes.io/hostname, operator: In, values: [node-0] }] }]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: data }
spec: { accessModes: [ReadWriteOnce], storageClassName: disks, resources: { requests: { storage: 1Gi } } }
---
apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
  containers:
    - name: web
      image: nginx
      resources: { limits: { cpu: 100m, memory: 64Mi } }
      volumeMounts: [{ name: data, mountPath: /data }]
  volumes: [{ name: data, persistentVolumeClaim: { claimName: data } }]
`

/** Returns the metrics on all paths of a running cluster with a pod and a volume. */
export async function exposedMetrics(): Promise<ExposedMetrics> {
  await using cluster = await startCluster({ nodes: 1 })
  await cluster.apply(WORKLOAD)
  await cluster.advance("1m")
  await cluster.listen()
  // Requests are counted when they have ended: without this one no series would tell of them.
  await get(cluster.kubeconfig, "/api/v1/namespaces/default/pods/web")
  const node = "/api/v1/nodes/node-0/proxy/metrics"
  const paths = ["/metrics", node, `${node}/resource`, `${node}/probes`]
  const texts = await Promise.all(paths.map((path) => get(cluster.kubeconfig, path)))
  // Simulated nodes have no rules of Services, so kube-proxy's metrics are taken from their declaration.
  const proxy = new Registry()
  proxyMetrics(proxy, "IPv4")
  return metricsIn([...texts, cadvisorText(), proxy.text()].join(""))
}

function metricsIn(text: string): ExposedMetrics {
  const found = new Map<string, Set<string>>()
  for (const [, name = ""] of text.matchAll(/^# TYPE (\S+) /gm)) found.set(name, new Set())
  for (const [, sample = "", labels = ""] of text.matchAll(/^([a-zA-Z_:]+)\{(.*)\} \S+/gm)) {
    const name = found.has(sample) ? sample : sample.replace(/_(bucket|sum|count)$/, "")
    for (const [, label = ""] of labels.matchAll(/(\w+)="/g)) found.get(name)?.add(label)
  }
  return found
}

interface Kubeconfig {
  readonly clusters: readonly [{ readonly cluster: { readonly server: string } }]
  readonly users: readonly [{ readonly user: { readonly token: string } }]
}

function get(kubeconfig: string, path: string): Promise<string> {
  const { clusters, users } = parse(kubeconfig) as Kubeconfig
  return new Promise((resolve, reject) => {
    const call = request(
      `${clusters[0].cluster.server}${path}`,
      {
        rejectUnauthorized: false,
        headers: { Authorization: `Bearer ${users[0].user.token}`, Connection: "close" },
        agent: false,
      },
      (response) => {
        let text = ""
        response.on("data", (chunk: Buffer) => (text += chunk.toString("utf8")))
        response.on("end", () =>
          response.statusCode === 200 ? resolve(text) : reject(new Error(`${path}: ${response.statusCode} ${text}`)),
        )
      },
    )
    call.on("error", reject)
    call.end()
  })
}
