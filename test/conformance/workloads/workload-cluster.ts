import { startConformanceCluster, type ConformanceCluster, type Loose } from "../cluster.ts"

/** The namespace of the tests of controllers. */
export const NS = "/api/v1/namespaces/w"
export const APPS = "/apis/apps/v1/namespaces/w"

/** Starts a cluster with controllers, scheduler and two nodes whose pods run at once, without real containers. */
export async function startWorkloadCluster(): Promise<ConformanceCluster> {
  const cluster = await startConformanceCluster({ controllers: true, nodes: 2 })
  await makeNamespace(cluster, "w")
  return cluster
}

/** Creates a namespace and waits for its service account, which pods need. Returns the path of the namespace. */
export async function makeNamespace(cluster: ConformanceCluster, name: string): Promise<string> {
  await cluster.post("/api/v1/namespaces", { metadata: { name } })
  await cluster.until(`/api/v1/namespaces/${name}/serviceaccounts/default`, (account) => account !== undefined)
  return `/api/v1/namespaces/${name}`
}

export const podSpec = (image = "registry.example/web:1") => ({ containers: [{ name: "web", image }] })
export const template = (app: string, image?: string) => ({ metadata: { labels: { app } }, spec: podSpec(image) })
/** Selector and template of a workload. */
export const selected = (app: string) => ({ selector: { matchLabels: { app } }, template: template(app) })
export const podsOf = (app: string, ns = NS) => `${ns}/pods?labelSelector=app%3D${app}`
/** Whether exactly this number of pods is running, and none of them is being deleted. */
export const running = (count: number) => (pods: readonly Loose[]) =>
  pods.length === count &&
  pods.every(({ status, metadata }) => status.phase === "Running" && metadata.deletionTimestamp === undefined)
export const condition = (object: Loose | undefined, type: string) =>
  object?.status.conditions?.find((c) => c.type === type)
