import { expect, test } from "bun:test"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { ResourceQuota } from "../../../pkg/api/core/v1/resourcequota/resourcequota.ts"
import { startCluster, type Cluster } from "../../cluster/testing/testing.ts"

const named = (name: string) => ({ name, namespace: "default" })
const entries = (count: number, value: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`example.com.k${i}`, value]))
const hard = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`count/k${i}.example.com`, "1"]))

const LARGE = 10_000
const SMALL = 10
/** So many steps of a large write have turns of their own, at least. */
const TURNS = 10

type Write = (client: Cluster["client"], entries: number) => Promise<unknown>

/** Writes of an object that is there already, whose text is large or small, and that change all or one of its fields. */
const WRITES: readonly (readonly [string, Write])[] = [
  [
    "that creates it",
    (client, count) => client.create(ConfigMap, { metadata: named("new"), data: entries(count, "a") }),
  ],
  [
    "that replaces it",
    (client, count) => client.update(ConfigMap, { metadata: named("c"), data: entries(count, "b") }),
  ],
  [
    "that changes one of its labels",
    (client) => client.patch(ConfigMap, named("c"), { type: "merge", body: { metadata: { labels: { a: "b" } } } }),
  ],
  [
    "by a strategic merge patch",
    (client, count) => client.patch(ConfigMap, named("c"), { type: "strategic", body: { data: entries(count, "b") } }),
  ],
  [
    "by server-side apply",
    (client, count) =>
      client.patch(
        ConfigMap,
        named("c"),
        {
          type: "apply",
          body: { apiVersion: "v1", kind: "ConfigMap", metadata: named("c"), data: entries(count, "b") },
        },
        { fieldManager: "test", force: true },
      ),
  ],
  [
    "of its status",
    async (client) => {
      const quota = await client.get(ResourceQuota, named("q"))
      return client.updateStatus(ResourceQuota, { ...quota, status: { hard: quota.spec.hard } })
    },
  ],
]

/** Returns how many times others were served meanwhile. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0
  let isOver = false
  const other = () => {
    turns++
    if (!isOver) setImmediate(other)
  }
  setImmediate(other)
  await work()
  isOver = true
  return turns
}

test.each(WRITES)(
  "a write %s takes many turns where the object is large, and none where it is small",
  async (_title, write) => {
    const turnsWith = async (count: number): Promise<number> => {
      // given an object of so many fields
      await using cluster = await startCluster({ components: { controllers: false, scheduler: false } })
      const { client } = cluster
      await client.create(ConfigMap, { metadata: named("c"), data: entries(count, "a") })
      await client.create(ResourceQuota, { metadata: named("q"), spec: { hard: hard(count) } })
      // when
      return await turnsDuring(() => write(client, count))
    }
    // then
    expect(await turnsWith(LARGE)).toBeGreaterThanOrEqual((await turnsWith(SMALL)) + TURNS)
  },
)
