import { describe, expect, test } from "bun:test"
import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { diagnosisMessage } from "./framework.ts"
import { findNode } from "./schedule-one.ts"
import { away, labelled, near, place, spread, term, WEB, zone } from "./schedule-one.fixtures.ts"

const PRIORITY = { priority: 10 }
const HERE = { topologyKey: "kubernetes.io/hostname" }
const AWAY_MESSAGE = "0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules."
const NEAR_MESSAGE = "0/1 nodes are available: 1 node(s) didn't match pod affinity rules."

describe("beside a pod that is nominated to the only node, a pod", () => {
  const table: readonly [title: string, pod: Pod, nominated: Pod, outcome: string][] = [
    ["without rules gets the node", labelled(WEB), labelled(WEB, PRIORITY), "a"],
    [
      "that must be away from the nominated pod waits",
      labelled({}, away(term(WEB, HERE))),
      labelled(WEB, PRIORITY),

      AWAY_MESSAGE,
    ],
    [
      "that must be away from a nominated pod of a lower priority gets the node",
      labelled({}, { ...away(term(WEB, HERE)), priority: 11 }),
      labelled(WEB, PRIORITY),

      "a",
    ],
    [
      "that a nominated pod keeps away waits, once it has rules about other pods itself",
      labelled(WEB, away(term({ app: "db" }, HERE))),
      labelled({}, { ...PRIORITY, ...away(term(WEB, HERE)) }),

      "0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules.",
    ],
    // Upstream's PreFilter skips the pod, and a plugin that is skipped hears of no nominated pod.
    [
      "that a nominated pod keeps away gets the node while no pod that runs has such rules",
      labelled(WEB),
      labelled({}, { ...PRIORITY, ...away(term(WEB, HERE)) }),

      "a",
    ],
    [
      "that must be near the nominated pod waits until it runs",
      labelled({}, near(term(WEB, HERE))),
      labelled(WEB, PRIORITY),

      NEAR_MESSAGE,
    ],
    [
      "that is spread over the nodes waits when the nominated pod makes the node too full",
      labelled(WEB, spread("DoNotSchedule", { ...HERE, minDomains: 2 })),
      labelled(WEB, PRIORITY),

      "0/1 nodes are available: 1 node(s) didn't match pod topology spread constraints.",
    ],
    [
      "that is spread over the nodes gets the node when the nominated pod is of another group",
      labelled(WEB, spread("DoNotSchedule", { ...HERE, minDomains: 2 })),
      labelled({ app: "db" }, PRIORITY),

      "a",
    ],
    [
      "that is spread over the nodes gets the node when the nominated pod is in another namespace",
      labelled(WEB, spread("DoNotSchedule", { ...HERE, minDomains: 2 })),
      labelled(WEB, PRIORITY, undefined, "team"),

      "a",
    ],
  ]
  test.each(table)("%s", (_title, pod, nominated, outcome) => {
    const context = place([zone("a", "1")])
    context.nominations.nominate(nominated, "a")
    const found = findNode(pod, context, 0).outcome
    if ("error" in found) throw new Error(found.error)
    expect("node" in found ? found.node : diagnosisMessage(found.diagnosis, "")).toBe(outcome)
  })

  test("leaves the counts of other nodes as they were", () => {
    // given two nodes, with a pod nominated to the first
    const context = place([zone("a", "1"), zone("b", "1")])
    context.nominations.nominate(labelled(WEB, PRIORITY), "a")
    // when
    const { outcome } = findNode(labelled({}, away(term(WEB, HERE))), context, 0)
    // then
    expect(outcome).toEqual({ node: "b" })
  })
})
