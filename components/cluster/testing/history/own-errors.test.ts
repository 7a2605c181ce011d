import { describe, expect, test } from "bun:test"
import { ApiError, ConfigMap, defineController, Deployment, Secret, startCluster } from "../testing.ts"
import { matchers } from "../matchers/matchers.ts"

const CONFIG = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } }
const failing = (fail: () => never) =>
  defineController({
    name: "sealer",
    reconciles: ConfigMap,
    concerns: ({ metadata }) => metadata.name === CONFIG.metadata.name,
    reconcile: async () => fail(),
  })
const bug = (): never => {
  throw new TypeError("undefined is not an object (evaluating 'config.data.key')")
}
const messageOf = (work: Promise<unknown>) =>
  work.then(
    () => "",
    (err: unknown) => String(err),
  )

describe("a controller whose reconcile always throws", () => {
  test("is named when a wait ends, with its key, its error, the line and how often", async () => {
    // given
    await using cluster = await startCluster()
    await cluster.run(failing(bug))
    await cluster.apply(CONFIG)
    // when
    const message = await messageOf(cluster.eventually(Secret, {}, (secrets) => secrets.length === 1))
    // then
    expect(message).toMatch(
      /no secrets\n\s+controller sealer, default\/a has failed \d+ times: TypeError: undefined is/,
    )
    expect(message).toContain("own-errors.test.ts:")
  })

  test("is named by matchers and by calls that wait", async () => {
    // given
    await using cluster = await startCluster()
    await cluster.run(failing(bug))
    await cluster.apply(CONFIG)
    // when
    const matched = await matchers.toBecomeReady(cluster, Deployment, "web", { within: "5s" })
    const waited = await messageOf(cluster.waitFor(ConfigMap, "b", "create", { within: "5s" }))
    // then
    for (const message of [matched.message(), waited])
      expect(message).toContain("controller sealer, default/a has failed")
  })

  test("is named when a request gets no answer", async () => {
    // given
    await using cluster = await startCluster()
    await cluster.run(failing(bug))
    await cluster.apply(CONFIG)
    await cluster.advance("1s")
    // when
    await using _delayed = await cluster.faults.requests({ verb: "list", delay: "30d" })
    const message = await messageOf(cluster.list(Secret))
    // then
    expect(message).toMatch(
      /^TestClusterError: Not done within 5m0s.*\n\s+a rule holds: .*\n\s+controller sealer, default\/a has failed/,
    )
  })

  test("is named by what the API server refused, without a line", async () => {
    // given
    await using cluster = await startCluster()
    await cluster.run(
      failing(() => {
        throw new ApiError("Forbidden", "secrets is forbidden: it cannot create")
      }),
    )
    await cluster.apply(CONFIG)
    // when
    const message = await messageOf(cluster.eventually(Secret, {}, (secrets) => secrets.length === 1))
    // then
    expect(message).toMatch(/default\/a has failed \d+ times: secrets is forbidden: it cannot create$/)
  })

  test("writes its log lines to the logger of the options too", async () => {
    // given
    const lines: string[] = []
    const log = {
      debug() {},
      info() {},
      warn() {},
      error: (message: string) => void lines.push(message),
      child: () => log,
    }
    await using cluster = await startCluster({ log })
    // when
    await cluster.run(failing(bug))
    await cluster.apply(CONFIG)
    // then
    expect(lines).toContain("Contained a failure; everything else goes on")
  })
})
