import { expect, test } from "bun:test"
import { realClock } from "../../../../pkg/clock/real.ts"
import { web } from "../cluster.fixtures.ts"
import { Deployment, startCluster } from "../testing.ts"

/** A test's work: some tens of milliseconds when nobody else works. Resolves to how long it took. */
async function work(seed: number): Promise<number> {
  const began = realClock.monotonic()
  await using cluster = await startCluster({ nodes: 3, seed })
  await cluster.apply(web(10))
  await cluster.eventually(Deployment, {}, ([found]) => found?.status.readyReplicas === 10)
  await using lost = await cluster.faults.nodeLost("node-0")
  await cluster.advance("2m")
  await lost.end()
  await cluster.advance("1m")
  return realClock.monotonic() - began
}

test("clusters that run at once end one after another, and not all at the end", async () => {
  // given
  await work(0)
  // when five begin together
  const times = await Promise.all(Array.from({ length: 5 }, (_, i) => work(i)))
  // then the first has ended long before the last
  expect(times[0]!).toBeLessThan(0.7 * times.at(-1)!)
}, 60_000)

test("a cluster that waits for another one gets its answer", async () => {
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
