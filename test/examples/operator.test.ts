/**
 * Testing an operator without a cluster: a control loop on ConfigMaps that copies every ConfigMap labelled
 * `share=everywhere` into all namespaces, and takes the copies away when the original goes. It runs against the real
 * API under the real garbage collector and admission, in virtual time.
 */
import { describe, expect, test } from "bun:test"
import {
  ConfigMap,
  defineController,
  isNotFound,
  Namespace,
  splitKey,
  startCluster,
  type Client,
} from "../../components/cluster/testing/testing.ts"

const SHARED = { share: "everywhere" }
const ORIGIN = "example.com/copied-from"
const isShared = (config: ConfigMap) => config.metadata.labels?.["share"] === SHARED.share

/** Gets a key and never an event, so it may run at any time and as often as it likes. */
const sharing = defineController<ConfigMap>({
  name: "config-sharing",
  reconciles: ConfigMap,
  watches: [
    {
      resource: Namespace, // a new namespace wants all that is shared
      keys: (_namespace, { informers }) =>
        informers
          .of(ConfigMap)
          .list()
          .filter(isShared)
          .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
    },
  ],
  async reconcile(key, { client, informers }) {
    const { namespace = "", name } = splitKey(key)
    const original = informers.of(ConfigMap).get(key)
    const copies = informers
      .of(ConfigMap)
      .list()
      .filter(({ metadata }) => metadata.annotations?.[ORIGIN] === key)
    if (original === undefined || !isShared(original)) {
      for (const { metadata } of copies) await remove(client, metadata)
      return
    }
    for (const { metadata } of informers.of(Namespace).list()) {
      if (metadata.name === namespace || metadata.deletionTimestamp !== undefined) continue
      const copy = {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name, annotations: { [ORIGIN]: key } },
        data: original.data,
      }
      await client.patch(
        ConfigMap,
        { namespace: metadata.name, name },
        { type: "apply", body: copy },
        { fieldManager: "config-sharing", force: true },
      )
    }
  },
})

async function remove(client: Client, ref: ConfigMap["metadata"]): Promise<void> {
  await client.delete(ConfigMap, ref).catch((err: unknown) => {
    if (!isNotFound(err)) throw err
  })
}

const original = (text: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "motd", labels: SHARED },
  data: { text },
})
const namespace = (name: string) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })

describe("the sharing operator", () => {
  test("copies into every namespace, old and new, and follows changes", async () => {
    // given the operator in a cluster with a namespace
    await using cluster = await startCluster()
    await cluster.run(sharing)
    await cluster.apply(namespace("old"))
    // when something is shared, a namespace made, and the text changed
    await cluster.apply(original("hello"))
    await cluster.apply(namespace("new"))
    await cluster.apply(original("good evening"))
    // then
    for (const name of ["old", "new"])
      expect((await cluster.get(ConfigMap, `${name}/motd`)).data).toEqual({ text: "good evening" })
  })

  test("takes the copies away with the original", async () => {
    await using cluster = await startCluster({ preload: [namespace("team"), original("hello")] })
    await cluster.run(sharing)
    expect(await cluster.find(ConfigMap, "team/motd")).toBeDefined()
    await cluster.delete(ConfigMap, "motd")
    expect(await cluster.find(ConfigMap, "team/motd")).toBeUndefined()
  })

  test("gets over an API that fails for a while", async () => {
    // given an API server that refuses its writes
    await using cluster = await startCluster({ preload: namespace("team") })
    await using outage = await cluster.faults.requests({
      verb: "patch",
      resource: "configmaps",
      namespace: "team",
      error: "InternalError",
    })
    await cluster.run(sharing)
    await cluster.apply(original("hello"))
    await cluster.advance("1m")
    expect(await cluster.find(ConfigMap, "team/motd")).toBeUndefined()
    // when that is over, then the back-off ends it
    await outage.end()
    await cluster.eventually(async () => (await cluster.find(ConfigMap, "team/motd")) !== undefined, { within: "5m" })
  })
})
