import type { Cluster, NodeOptions } from "../../../components/cluster/testing/testing.ts"
import { startCluster } from "../../../components/cluster/testing/testing.ts"
import { seededRandom, type Random } from "../../../pkg/clock/random.ts"
import { between, pick } from "../../hunt/chance.ts"

/** An application that runs: a Deployment, its Service and its ConfigMap. */
export interface App {
  readonly name: string
  readonly namespace: string
  readonly replicas: number
  readonly image: string
}

export interface Healthy {
  readonly cluster: Cluster
  readonly apps: readonly App[]
  readonly random: Random
}

const IMAGES = ["registry.example/web:1.4", "registry.example/api:2", "nginx:1.27", "redis:7", "acme/worker:3.1.0"]
const NAMES = ["web", "api", "cache", "orders", "mail", "search", "billing", "auth"]

/** Starts a cluster in which some applications run well, as a seed says. */
export async function startHealthy(seed: number): Promise<Healthy> {
  const random = seededRandom(seed)
  const nodes = Array.from({ length: between(random, 1, 4) }, (_, index): NodeOptions => ({
    name: `node-${index}`,
    labels: { zone: index % 2 === 0 ? "east" : "west", disk: pick(random, ["ssd", "hdd"]) },
  }))
  const cluster = await startCluster({
    nodes,
    seed,
    network: "real",
    images: { "registry.example/prepare:1": { runsMs: 500 } },
  })
  const names = NAMES.slice(between(random, 0, 4)).slice(0, between(random, 1, 4))
  const apps = names.map((name): App => ({
    name,
    namespace: pick(random, ["default", "team"]),
    replicas: between(random, 1, 3),
    image: pick(random, IMAGES),
  }))
  await cluster.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: team}")
  for (const app of apps) await cluster.apply(manifestOf(app, random))
  await cluster.advance("2m")
  return { cluster, apps, random }
}

/** Of an application everything is as it should be; what it has beside the necessary is drawn. */
function manifestOf({ name, namespace, replicas, image }: App, random: Random): string {
  const probe = pick(random, [
    "",
    "readinessProbe: {httpGet: {port: http, path: /ready}}, ",
    "readinessProbe: {tcpSocket: {port: 8080}}, livenessProbe: {httpGet: {port: 8080}}, ",
  ])
  const resources = pick(random, ["", "resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: 256Mi}}, "])
  const init = pick(random, [
    "",
    `initContainers: [{name: prepare, image: "registry.example/prepare:1", command: ["true"]}], `,
  ])
  return `
apiVersion: v1
kind: ConfigMap
metadata: {name: ${name}-config, namespace: ${namespace}}
data: {mode: prod, level: info}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}, namespace: ${namespace}}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}, tier: back}}
    spec: {${init}containers: [{name: main, image: "${image}", ${probe}${resources}ports: [{name: http, containerPort: 8080}], env: [{name: MODE, valueFrom: {configMapKeyRef: {name: ${name}-config, key: mode}}}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: ${name}, namespace: ${namespace}}
spec: {selector: {app: ${name}}, ports: [{name: http, port: 80, targetPort: ${pick(random, ["http", "8080"])}}]}
`
}
