import { setTimeout as wait } from "node:timers/promises"
import { ConfigMap, Pod, type Cluster, type ClusterOptions } from "../testing.ts"

/** A module for `runClusters`: what a drill does depends on its seed. */
export const options: ClusterOptions = {
  nodes: 2,
  images: { web: { run: async (container) => container.sleep(60_000) } },
}

/** Seeds that do something special; all others return what their cluster is like. */
export const SEED = { throws: 901, waits: 902, exits: 903, hangs: 904, returnsFunction: 905 } as const

export default async function drill(cluster: Cluster, seed: number): Promise<unknown> {
  await cluster.client.create(Pod, { metadata: { name: "a" }, spec: { containers: [{ name: "web", image: "web" }] } })
  switch (seed) {
    case SEED.throws:
      throw new RangeError("the database has gone")
    case SEED.waits:
      return cluster.eventually(ConfigMap, {}, (all) => all.some(({ metadata }) => metadata.name === "never"))
    case SEED.exits:
      return process.exit(3)
    case SEED.hangs:
      return wait(600_000)
    case SEED.returnsFunction:
      return () => "not plain"
  }
  await cluster.advance("1m")
  const { metadata, spec } = await cluster.get(Pod, "a")
  return { seed: cluster.seed, uid: metadata.uid, node: spec.nodeName, writes: cluster.history().length }
}
