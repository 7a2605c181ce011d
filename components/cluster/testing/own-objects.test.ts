import { expect, test } from "bun:test"
import { ConfigMap, startCluster, type Cluster } from "./testing.ts"

const settings = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" }, data: { mode: "fast" } }

/** Returns a function that changes the object in place, which throws if the object is frozen. */
const spoil = (object: ConfigMap | undefined) => () => {
  if (object === undefined) throw new Error("nothing was given")
  const { data } = object as { data: Record<string, string> }
  data["mode"] = "slow"
}

/** Every way in which a cluster gives an object to a test. */
const WAYS: Readonly<Record<string, (cluster: Cluster) => Promise<ConfigMap | undefined>>> = {
  get: (cluster) => cluster.get(ConfigMap, "settings"),
  list: async (cluster) =>
    (await cluster.list(ConfigMap, { namespace: "default" })).find(({ metadata }) => metadata.name === "settings"),
  apply: async (cluster) => (await cluster.apply(settings))[0] as ConfigMap,
  "the client of somebody else": (cluster) =>
    cluster.as("system:admin", ["system:masters"]).get(ConfigMap, { namespace: "default", name: "settings" }),
  "an informer": async (cluster) => {
    const informer = cluster.contextFor().informers.of(ConfigMap)
    await cluster.settle()
    return informer.get("default/settings")
  },
  history: async (cluster) => cluster.history({ kind: "ConfigMap", name: "settings" })[0]!.object as ConfigMap,
}

for (const [way, take] of Object.entries(WAYS)) {
  test(`an object given by ${way} cannot be changed in place`, async () => {
    await using cluster = await startCluster({ seed: 1, preload: settings, frozen: true })
    expect(spoil(await take(cluster))).toThrow(TypeError)
    expect((await cluster.get(ConfigMap, "settings")).data).toEqual({ mode: "fast" })
  })
}

test("with frozen: false an object can be changed in place", async () => {
  await using cluster = await startCluster({ seed: 1, preload: settings, frozen: false })
  expect(spoil(await cluster.get(ConfigMap, "settings"))).not.toThrow()
})

test("a test can change the object that it passed to create, and the stored object stays the same", async () => {
  await using cluster = await startCluster({ seed: 1 })
  const own = { metadata: { name: "own", namespace: "default" }, data: { mode: "fast" } }
  await cluster.client.create(ConfigMap, own)
  const given = await cluster.get(ConfigMap, "own")
  own.data.mode = "slow"
  expect(given.data).toEqual({ mode: "fast" })
  await cluster.client.update(ConfigMap, own)
  expect((await cluster.get(ConfigMap, "own")).data).toEqual({ mode: "slow" })
})
