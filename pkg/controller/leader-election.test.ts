import { expect, test } from "bun:test"
import { Lease, startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"
import { runLeaderElected } from "./leader-election.ts"

const LOCK = { name: "operator", namespace: "kube-system" }

/** Starts a candidate, which adds `+<identity>` to the log when it begins to lead and `-<identity>` when it ends. */
function candidate(cluster: Cluster, identity: string, log: string[], user?: string) {
  const end = new AbortController()
  const lead = async (leading: AbortSignal) => {
    log.push(`+${identity}`)
    await new Promise<void>((resolve) => leading.addEventListener("abort", () => resolve(), { once: true }))
    log.push(`-${identity}`)
  }
  const context = cluster.contextFor(user, user === undefined ? undefined : ["system:masters"])
  const done = runLeaderElected({ ...LOCK, identity }, context, end.signal, lead)
  return { end, done }
}

test("one candidate leads at a time, and the next takes over when it gives up", async () => {
  // given two candidates
  await using cluster = await startCluster()
  const log: string[] = []
  const a = candidate(cluster, "a", log)
  await cluster.advance("10s")
  const b = candidate(cluster, "b", log)
  await cluster.advance("10m")
  expect(log).toEqual(["+a"])
  // when the first ends
  a.end.abort()
  await cluster.advance("10s")
  // then
  expect(await a.done).toBe("cancelled")
  expect(log).toEqual(["+a", "-a", "+b"])
  const { spec } = await cluster.get(Lease, LOCK)
  expect(spec).toMatchObject({ holderIdentity: "b", leaseDurationSeconds: 15, leaseTransitions: 1 })
  b.end.abort()
  await cluster.advance("1s")
  expect((await cluster.get(Lease, LOCK)).spec.holderIdentity ?? "").toBe("")
})

test("a leader that cannot renew its Lease stops before another one starts", async () => {
  // given a leader whose writes fail from now on
  await using cluster = await startCluster()
  const log: string[] = []
  const a = candidate(cluster, "a", log, "alice")
  await cluster.advance("10s")
  const b = candidate(cluster, "b", log)
  await using fault = await cluster.faults.requests({ user: "alice", error: "InternalError" })
  // when, then it ends within the renew deadline, and the other begins after the duration of the Lease
  await cluster.advance("13s")
  expect(await a.done).toBe("lost")
  expect(log).toEqual(["+a", "-a"])
  await cluster.advance("10s")
  expect(log).toEqual(["+a", "-a", "+b"])
  await fault.end()
  b.end.abort()
  await cluster.advance("1s")
})

test("work that fails ends the leadership, and the error is reported", async () => {
  await using cluster = await startCluster()
  const failing = runLeaderElected({ ...LOCK, identity: "a" }, cluster.contextFor(), new AbortController().signal, () =>
    Promise.reject(new Error("no database")),
  ).catch((err: unknown) => err)
  await cluster.advance("1s")
  expect(String(await failing)).toContain("no database")
  expect((await cluster.get(Lease, LOCK)).spec.holderIdentity ?? "").toBe("")
})

test.each([
  { options: { identity: "" }, message: "identity is empty" },
  { options: { leaseDurationMs: 10_000 }, message: "must be greater than renewDeadlineMs" },
  { options: { retryPeriodMs: 9_000 }, message: "must be greater than retryPeriodMs" },
])("contradictory timings are refused: $options", async ({ options, message }) => {
  await using cluster = await startCluster()
  const { signal } = new AbortController()
  const run = runLeaderElected({ ...LOCK, identity: "a", ...options }, cluster.contextFor(), signal, async () => {})
  expect(String(await run.catch((err: unknown) => err))).toContain(message)
})
