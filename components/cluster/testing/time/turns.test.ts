import { expect, test } from "bun:test"
import { web } from "../cluster.fixtures.ts"
import { Deployment, startCluster } from "../testing.ts"

/**
 * The work of one test, which takes some tens of milliseconds alone. `moved` is called with the virtual time that has
 * passed, in ms.
 */
async function work(seed: number, moved: (ms: number) => void = () => undefined): Promise<void> {
  await using cluster = await startCluster({ nodes: 3, seed })
  const began = cluster.now.getTime()
  const step = async (ms: number) => {
    await cluster.advance(ms)
    moved(cluster.now.getTime() - began)
  }
  await cluster.apply(web(10))
  await cluster.eventually(Deployment, {}, ([found]) => found?.status.readyReplicas === 10)
  await using lost = await cluster.faults.nodeLost("node-0")
  for (let i = 0; i < 12; i++) await step(10_000)
  await lost.end()
  for (let i = 0; i < 6; i++) await step(10_000)
}

test("clusters that run concurrently end one after another, and not all at the end", async () => {
  // given
  await work(0)
  // when five begin together
  const moved = [0, 0, 0, 0, 0]
  const all = moved.map((_, i) => work(i, (ms) => (moved[i] = ms)))
  await all[0]
  // then the time of the last has hardly moved when the first has ended
  expect(moved[0]!).toBeGreaterThanOrEqual(180_000)
  expect(moved.at(-1)!).toBeLessThan(90_000)
  await Promise.all(all)
}, 60_000)

test("a cluster can await a call of another cluster", async () => {
  // given one whose program asks the other, which needs time for the answer
  await using answering = await startCluster({ nodes: 1 })
  await using asking = await startCluster({
    nodes: 1,
    images: {
      asker: {
        async run(container) {
          await answering.apply(web(1))
          await answering.advance("1m")
          container.log("answered")
        },
      },
    },
  })
  // when
  await asking.apply({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p" },
    spec: { restartPolicy: "Never", containers: [{ name: "c", image: "asker" }] },
  })
  // then
  await asking.eventually(async () => (await asking.logs("p")).includes("answered"))
}, 60_000)
