import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { Pod, startCluster, type Cluster, type LogsOptions } from "../testing.ts"

/** An image that writes four lines, ten seconds apart, and ends with an error. */
const images = {
  talker: {
    async run(container: {
      readonly pod: { readonly name: string }
      log(line: string): void
      sleep(ms: number): Promise<void>
    }) {
      for (const line of ["one", "two", "three", "four"]) {
        container.log(line)
        await container.sleep(10_000)
      }
      return 1
    },
  },
  side: { logs: ["beside"] },
}
const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p" },
  spec: {
    containers: [
      { name: "main", image: "talker" },
      { name: "side", image: "side" },
    ],
  },
}

describe("logs", () => {
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await startCluster({ nodes: 1, images })
    await cluster.apply(pod)
    // Its second run has written two lines.
    await cluster.eventually(
      async () => (await cluster.get(Pod, "p")).status.containerStatuses?.[0]?.restartCount === 1,
      { within: "5m" },
    )
    await cluster.advance("15s")
  })
  afterAll(() => cluster.stop())

  const cases: readonly { readonly title: string; readonly options: string | LogsOptions; readonly wants: string }[] = [
    { title: "all lines of the current run of the first container", options: {}, wants: "one\ntwo\n" },
    { title: "another container", options: { container: "side" }, wants: "beside\n" },
    { title: "another container, given as a string", options: "side", wants: "beside\n" },
    { title: "lines of the previous run", options: { previous: true }, wants: "one\ntwo\nthree\nfour\n" },
    { title: "the last lines", options: { previous: true, tail: 2 }, wants: "three\nfour\n" },
    { title: "no lines", options: { tail: 0 }, wants: "" },
    { title: "lines of the last seconds only", options: { since: "10s" }, wants: "two\n" },
    { title: "the first bytes only", options: { limitBytes: 5 }, wants: "one\nt" },
  ]
  test.each(cases)("returns $title", async ({ options, wants }) => {
    expect(await cluster.logs("p", options)).toBe(wants)
  })

  test("returns lines since an instant, each with its time", async () => {
    const [first, second] = (await cluster.logs("p", { timestamps: true })).split("\n")
    expect(first).toMatch(/^2026-01-01T00:\d\d:\d\d\.\d{9}Z one$/)
    expect(await cluster.logs("p", { sinceTime: second!.split(" ")[0]! })).toBe("two\n")
  })

  test.each([
    { title: "a container that does not exist", options: "none", says: 'container "none" in pod "p" is not available' },
    {
      title: "the previous run of a container that never restarted",
      options: { container: "side", previous: true },
      says: 'previous terminated container "side" in pod "p" not found',
    },
    {
      title: "both since and sinceTime",
      options: { since: 1, sinceTime: "2026-01-01T00:00:00Z" },
      says: "give one of them",
    },
    {
      title: "a number of lines that is not whole",
      options: { tail: 1.5 },
      says: "tail: 1.5: expected a whole number",
    },
  ])("refuses $title", async ({ options, says }) => {
    const refusal = await cluster.logs("p", options).then(
      () => "",
      (err: Error) => err.message,
    )
    expect(refusal).toContain(says)
  })
})

test("logs of a container whose next run is being started are those of the last run, as are the previous ones", async () => {
  // given a container that fails, and takes a minute to start
  const slow = { startMs: 60_000, logs: ["ran"], runsMs: 1000, exitCode: 1 }
  await using cluster = await startCluster({ nodes: 1, images: { slow } })
  await cluster.apply({ ...pod, spec: { containers: [{ name: "main", image: "slow" }] } })
  const state = async () => (await cluster.get(Pod, "p")).status.containerStatuses?.[0]
  await cluster.eventually(async () => (await state())?.lastState.terminated !== undefined, { within: "5m" })
  // when its second run has been created
  await cluster.advance("30s")
  expect((await state())?.state.running).toBeUndefined()
  // then
  expect(await cluster.logs("p")).toBe("ran\n")
  expect(await cluster.logs("p", { previous: true })).toBe("ran\n")
})

test("logs of a pod that its node has rejected are not there, and nothing says that they will be", async () => {
  // given a pod whose sysctl the node does not allow
  await using cluster = await startCluster({ nodes: 1, images })
  const securityContext = { sysctls: [{ name: "kernel.msgmax", value: "65536" }] }
  await cluster.apply({ ...pod, spec: { ...pod.spec, securityContext } })
  await cluster.eventually(async () => (await cluster.get(Pod, "p")).status.phase === "Failed", { within: "1m" })
  // then
  const refused = await cluster.logs("p").catch(String)
  expect(refused).toContain('container "main" in pod "p" is not available')
})
