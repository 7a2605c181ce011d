import { describe, expect, test } from "bun:test"
import type { Family } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { HEALTH_TIMEOUT_MS, ProxyHealth } from "./proxy-health.ts"

const START = Date.parse("2026-01-01T00:00:00Z")
/** The time `seconds` after the start of a test. */
const at = (seconds: number): string => new Date(START + seconds * 1000).toISOString()
const NODE = { metadata: { name: "node-0" }, spec: {} }

/** What happens, at which second. */
type Step = readonly [seconds: number, what: "queued" | "updated", family: Family]

const CASES: readonly {
  readonly title: string
  readonly steps: readonly Step[]
  readonly asked: number
  readonly status: 200 | 503
  readonly lastUpdated: string
  readonly families: Readonly<Partial<Record<Family, readonly [lastUpdated: number, healthy: boolean]>>>
}[] = [
  {
    title: "before its first rules",
    steps: [[0, "queued", "IPv4"]],
    asked: 1000,
    status: 200,
    lastUpdated: at(1000),
    families: {},
  },
  {
    title: "while nothing changes, with the time of the question",
    steps: [
      [0, "queued", "IPv4"],
      [1, "updated", "IPv4"],
    ],
    asked: 1000,
    status: 200,
    lastUpdated: at(1000),
    families: { IPv4: [1, true] },
  },
  {
    title: "while a change waits for less than a minute",
    steps: [
      [1, "updated", "IPv4"],
      [10, "queued", "IPv4"],
    ],
    asked: 69.999,
    status: 200,
    lastUpdated: at(69.999),
    families: { IPv4: [1, true] },
  },
  {
    title: "not when a change has waited for a minute, however many came after it",
    steps: [
      [1, "updated", "IPv4"],
      [10, "queued", "IPv4"],
      [60, "queued", "IPv4"],
    ],
    asked: 70,
    status: 503,
    lastUpdated: at(1),
    families: { IPv4: [1, false] },
  },
  {
    title: "again when the change is in the kernel",
    steps: [
      [1, "updated", "IPv4"],
      [10, "queued", "IPv4"],
      [75, "updated", "IPv4"],
      [80, "queued", "IPv4"],
    ],
    asked: 90,
    status: 200,
    lastUpdated: at(90),
    families: { IPv4: [75, true] },
  },
  {
    title: "not when only one of two families is late",
    steps: [
      [1, "updated", "IPv6"],
      [2, "updated", "IPv4"],
      [10, "queued", "IPv6"],
      [11, "queued", "IPv4"],
      [12, "updated", "IPv4"],
    ],
    asked: 100,
    status: 503,
    lastUpdated: at(12),
    families: { IPv4: [12, true], IPv6: [1, false] },
  },
]

async function after(steps: readonly Step[], asked: number): Promise<ProxyHealth> {
  const clock = new VirtualClock(START)
  const health = new ProxyHealth(clock)
  let now = 0
  const goTo = async (seconds: number) => {
    await clock.advance(Math.round((seconds - now) * 1000))
    now = seconds
  }
  for (const [seconds, what, family] of steps) {
    await goTo(seconds)
    health[what](family)
  }
  await goTo(asked)
  return health
}

describe("kube-proxy is healthy", () => {
  test.each(CASES)("$title", async ({ steps, asked, status, lastUpdated, families }) => {
    const health = await after(steps, asked)
    const report = {
      lastUpdated,
      currentTime: at(asked),
      healthy: status === 200,
      status: Object.fromEntries(
        Object.entries(families).map(([family, [updated, healthy]]) => [family, { lastUpdated: at(updated), healthy }]),
      ),
    }
    expect(health.livez()).toEqual({ status, report })
    expect(health.healthz(NODE)).toEqual({ status, report: { ...report, nodeEligible: true } })
  })

  test("or not, whatever the wall clock is set to meanwhile", async () => {
    const clock = new VirtualClock(START)
    const health = new ProxyHealth(clock)
    health.updated("IPv4")
    health.queued("IPv4")
    clock.jump(-HEALTH_TIMEOUT_MS)
    await clock.advance(HEALTH_TIMEOUT_MS)
    expect(health.livez().status).toBe(503)
  })
})

describe("/healthz", () => {
  const TO_BE_DELETED = { key: "ToBeDeletedByClusterAutoscaler", value: "1", effect: "NoSchedule" } as const
  test.each([
    { of: "a node that is there", node: NODE, eligible: true },
    {
      of: "a node with another taint",
      node: { ...NODE, spec: { taints: [{ ...TO_BE_DELETED, key: "a" }] } },
      eligible: true,
    },
    {
      of: "a node that the autoscaler is about to delete",
      node: { ...NODE, spec: { taints: [TO_BE_DELETED] } },
      eligible: false,
    },
    {
      of: "a node that is being deleted",
      node: { ...NODE, metadata: { name: "node-0", deletionTimestamp: at(0) } },
      eligible: false,
    },
    { of: "a node that is not there", node: undefined, eligible: false },
  ])("says of $of whether it is eligible for traffic: $eligible", async ({ node, eligible }) => {
    // given a proxy that is healthy
    const health = await after([[1, "updated", "IPv4"]], 100)
    // then
    const { status, report } = health.healthz(node)
    expect({ status, eligible: report.nodeEligible, healthy: report.healthy, lastUpdated: report.lastUpdated }).toEqual(
      {
        status: eligible ? 200 : 503,
        eligible,
        healthy: true,
        lastUpdated: at(eligible ? 100 : 1),
      },
    )
    // and whether the proxy lives is another question
    expect(health.livez().status).toBe(200)
  })

  test("of a proxy without rules has the time that stands for never where the node is not eligible", async () => {
    expect((await after([], 5)).healthz(undefined).report.lastUpdated).toBe("0001-01-01T00:00:00Z")
  })
})
