import { expect, test } from "bun:test"
import { APPLY_PHASES } from "../../../../test/harness/applied-trace.ts"
import { startCluster, type Cluster, type Trace } from "../testing.ts"

const WEB = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: web, image: nginx }] }
`

const applying = (cluster: Cluster): Trace =>
  cluster.traces().find(({ root }) => root?.name.startsWith("PATCH /apis/apps/v1") === true)!

test("the way from one apply to a ready pod is one trace, with a span for each step", async () => {
  // given
  await using cluster = await startCluster({ nodes: 1, tracing: true })
  // when
  await cluster.apply(WEB)
  await cluster.advance("10s")
  // then each span has its parent in the trace, and the way from apply to ready is in it
  const { spans, root } = applying(cluster)
  const ids = new Set(spans.map(({ context }) => context.spanId))
  expect(spans.filter((span) => span !== root && !ids.has(span.parentSpanId ?? ""))).toEqual([])
  const names = new Set(spans.map(({ component, name }) => `${component}: ${name}`))
  expect(PHASES.filter((phase) => !names.has(phase))).toEqual([])
})

/** No Service is applied here, so no endpoints are written. */
const PHASES = APPLY_PHASES.filter((phase) => !phase.includes("endpointslice-controller"))

test("spans have the virtual time of the cluster", async () => {
  // given a readiness probe that succeeds after half a minute
  await using cluster = await startCluster({ nodes: 1, tracing: true, startTime: "2030-01-01T00:00:00Z" })
  const probe = "readinessProbe: { exec: { command: [ready] }, initialDelaySeconds: 30 }"
  // when
  await cluster.apply(WEB.replace("image: nginx", `image: nginx, ${probe}`))
  await cluster.advance("1m")
  // then
  const { spans, root } = applying(cluster)
  expect(root?.startTime).toBe(Date.parse("2030-01-01T00:00:00Z"))
  const ready = spans.findLast(({ name }) => name === "Write pod status")!
  expect(ready.startTime - root!.startTime).toBeGreaterThanOrEqual(30_000)
})

test("the same seed gives the same spans, and the same history as without traces", async () => {
  // given three clusters of one seed, two with traces
  const run = async (tracing: boolean) => {
    await using cluster = await startCluster({ nodes: 1, seed: 11, tracing })
    await cluster.apply(WEB)
    await cluster.advance("10s")
    const history = (await cluster.history()).map(String)
    return { history, spans: tracing ? JSON.stringify(cluster.traces()) : "" }
  }
  // when
  const [one, other, without] = [await run(true), await run(true), await run(false)]
  // then
  expect(one.spans).toBe(other.spans)
  expect(one.history).toEqual(without.history)
})

test("a cluster without traces says in its error how to enable them", async () => {
  await using cluster = await startCluster()
  expect(() => cluster.traces()).toThrow("startCluster({ tracing: true })")
})
