import { describe, expect, test } from "bun:test"
import { categorize, type Candidate } from "./topology.ts"

const candidate = (ip: string, more: Partial<Candidate> = {}): Candidate => ({
  ip,
  port: 80,
  local: false,
  isReady: true,
  isEnding: false,
  zones: [],
  nodes: [],
  ...more,
})
const ENDING = { isReady: false, isEnding: true }
const HERE = { local: true }

const CASES: readonly {
  readonly title: string
  readonly given: readonly Candidate[]
  readonly zone?: string
  readonly wants: { readonly cluster: readonly string[]; readonly local: readonly string[] }
}[] = [
  {
    title: "ready ones are used, and no others",
    given: [candidate("a", HERE), candidate("b"), candidate("c", ENDING), candidate("d", { isReady: false })],
    wants: { cluster: ["a", "b"], local: ["a"] },
  },
  {
    title: "terminating ones are used if none is ready",
    given: [candidate("a", { ...HERE, ...ENDING }), candidate("b", ENDING)],
    wants: { cluster: ["a", "b"], local: ["a"] },
  },
  {
    title: "terminating ones on this node are used if none on this node is ready, although others are",
    given: [candidate("a", { ...HERE, ...ENDING }), candidate("b")],
    wants: { cluster: ["b"], local: ["a"] },
  },
  {
    title: "those with a hint for the node's zone are used",
    given: [candidate("a", { zones: ["z1"] }), candidate("b", { zones: ["z2"], ...HERE })],
    zone: "z1",
    wants: { cluster: ["a"], local: ["b"] },
  },
  {
    title: "all are used if none has a hint for the zone",
    given: [candidate("a", { zones: ["z1"] }), candidate("b", { zones: ["z2"] })],
    zone: "z3",
    wants: { cluster: ["a", "b"], local: [] },
  },
  {
    title: "all are used if one has no hint",
    given: [candidate("a", { zones: ["z1"] }), candidate("b")],
    zone: "z1",
    wants: { cluster: ["a", "b"], local: [] },
  },
  {
    title: "all are used on a node without a zone",
    given: [candidate("a", { zones: ["z1"] }), candidate("b", { zones: ["z2"] })],
    wants: { cluster: ["a", "b"], local: [] },
  },
  {
    title: "those with a hint for the node precede those with a hint for its zone",
    given: [candidate("a", { zones: ["z1"], nodes: ["n1"] }), candidate("b", { zones: ["z1"], nodes: ["n2"] })],
    zone: "z1",
    wants: { cluster: ["a"], local: [] },
  },
  {
    title: "those with a hint for the zone are used if none has a hint for the node",
    given: [candidate("a", { zones: ["z2"], nodes: ["n3"] }), candidate("b", { zones: ["z1"], nodes: ["n2"] })],
    zone: "z1",
    wants: { cluster: ["b"], local: [] },
  },
  {
    title: "terminating ones are used whatever their hints are",
    given: [candidate("a", { ...ENDING, zones: ["z2"] })],
    zone: "z1",
    wants: { cluster: ["a"], local: [] },
  },
]

describe("of the endpoints of a Service port", () => {
  test.each(CASES)("$title", ({ given, zone, wants }) => {
    const { cluster, local } = categorize(given, { nodeName: "n1", zone })
    expect({ cluster: cluster.map(({ ip }) => ip), local: local.map(({ ip }) => ip) }).toEqual({
      cluster: [...wants.cluster],
      local: [...wants.local],
    })
  })
})
