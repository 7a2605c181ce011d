import { describe, expect, test } from "bun:test"
import type { Node } from "../../pkg/api/core/v1/node/node.ts"
import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { diagnosisMessage } from "./framework.ts"
import { feasibleToFind, findNode } from "./schedule-one.ts"
import { asking, away, labelled, near, nodeOf, place, podOf, spread, term, WEB, zone } from "./schedule-one.fixtures.ts"

/** Returns the chosen node, or the message that `kubectl describe` shows. */
function outcomeOf(pod: Pod, nodes: readonly Node[], bound: readonly Pod[] = []): string {
  const { outcome } = findNode(pod, place(nodes, bound), 0)
  if ("error" in outcome) return outcome.error
  return "node" in outcome ? outcome.node : diagnosisMessage(outcome.diagnosis, "")
}

const taint = (effect: string) => ({ taints: [{ key: "gpu", value: "yes", effect }] })

describe("filters", () => {
  const table: readonly [title: string, pod: Pod, nodes: readonly Node[], bound: readonly Pod[], outcome: string][] = [
    ["no node at all", podOf("p"), [], [], "no nodes available to schedule pods"],
    [
      "too little CPU",
      podOf("p", asking({ cpu: "1500m" })),
      [nodeOf("a")],
      [podOf("b", asking({ cpu: "1" }), { node: "a" })],
      "0/1 nodes are available: 1 Insufficient cpu.",
    ],
    [
      "too little of several resources on several nodes",
      podOf("p", asking({ cpu: "3", memory: "8Gi" })),
      [nodeOf("a"), nodeOf("b")],
      [],
      "0/2 nodes are available: 2 Insufficient cpu, 2 Insufficient memory.",
    ],
    [
      "an extended resource that no node has",
      podOf("p", asking({ "example.com/gpu": "1" })),
      [nodeOf("a")],
      [],
      "0/1 nodes are available: 1 Insufficient example.com/gpu.",
    ],
    [
      "an extended resource that the node has",
      podOf("p", asking({ "example.com/gpu": "1" })),
      [nodeOf("a"), nodeOf("b", { allocatable: { "example.com/gpu": "1" } })],
      [],
      "b",
    ],
    [
      "as many pods as the node allows",
      podOf("p"),
      [nodeOf("a", { allocatable: { pods: "1" } })],
      [podOf("b", {}, { node: "a" })],
      "0/1 nodes are available: 1 Too many pods.",
    ],
    [
      "the resources of an ended pod are free",
      podOf("p"),
      [nodeOf("a", { allocatable: { pods: "1" } })],
      [podOf("b", {}, { node: "a", status: { phase: "Succeeded" } })],
      "a",
    ],
    [
      "a cordoned node",
      podOf("p"),
      [nodeOf("a", { spec: { unschedulable: true } })],
      [],
      "0/1 nodes are available: 1 node(s) were unschedulable.",
    ],
    [
      "a taint",
      podOf("p"),
      [nodeOf("a", { spec: taint("NoSchedule") })],
      [],
      "0/1 nodes are available: 1 node(s) had untolerated taint(s).",
    ],
    [
      "a taint that is tolerated",
      podOf("p", { tolerations: [{ key: "gpu", operator: "Exists" }] }),
      [nodeOf("a", { spec: taint("NoExecute") })],
      [],
      "a",
    ],
    [
      "a PreferNoSchedule taint is avoided if another node is free",
      podOf("p"),
      [nodeOf("a", { spec: taint("PreferNoSchedule") }), nodeOf("b")],
      [],
      "b",
    ],
    [
      "a node selector that nothing matches",
      podOf("p", { nodeSelector: { disk: "ssd" } }),
      [nodeOf("a", { labels: { disk: "hdd" } })],
      [],
      "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
    ],
    [
      "a cordoned node that the affinity names, and a node that it does not name",
      podOf("p", {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["a"] }] }],
            },
          },
        },
      }),
      [nodeOf("a", { spec: { unschedulable: true } }), nodeOf("b")],
      [],
      "0/2 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeAffinity], 1 node(s) were unschedulable.",
    ],
    [
      "a node selector",
      podOf("p", { nodeSelector: { disk: "ssd" } }),
      [nodeOf("a"), nodeOf("b", { labels: { disk: "ssd" } })],
      [],
      "b",
    ],
    [
      "affinity to a node by its name",
      podOf("p", {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["b"] }] }],
            },
          },
        },
      }),
      [nodeOf("a"), nodeOf("b")],
      [],
      "b",
    ],
    [
      "preferred affinity",
      podOf("p", {
        affinity: {
          nodeAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              { weight: 5, preference: { matchExpressions: [{ key: "zone", operator: "Gt", values: ["2"] }] } },
            ],
          },
        },
      }),
      [nodeOf("a", { labels: { zone: "2" } }), nodeOf("b", { labels: { zone: "3" } })],
      [],
      "b",
    ],
    [
      "a host port that is in use",
      podOf("p", { containers: [{ name: "c", image: "i", ports: [{ containerPort: 80, hostPort: 80 }] }] }),
      [nodeOf("a")],
      [
        podOf(
          "b",
          { containers: [{ name: "c", image: "i", ports: [{ containerPort: 1, hostPort: 80, hostIP: "10.0.0.1" }] }] },
          { node: "a" },
        ),
      ],
      "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
    ],
    [
      "the largest init container counts",
      podOf("p", {
        ...asking({ cpu: "1" }),
        initContainers: [{ name: "i", image: "i", resources: { requests: { cpu: "3" } } }],
      }),
      [nodeOf("a")],
      [],
      "0/1 nodes are available: 1 Insufficient cpu.",
    ],
    [
      "sidecars are added to the containers",
      podOf("p", {
        ...asking({ cpu: "1500m" }),
        initContainers: [{ name: "i", image: "i", restartPolicy: "Always", resources: { requests: { cpu: "600m" } } }],
      }),
      [nodeOf("a")],
      [],
      "0/1 nodes are available: 1 Insufficient cpu.",
    ],
    [
      "required affinity to a pod, by zone",
      labelled({}, near(term(WEB))),
      [zone("a", "1"), zone("b", "2")],
      [labelled(WEB, {}, "b")],
      "b",
    ],
    [
      "required affinity to pods that do not exist",
      labelled({}, near(term(WEB))),
      [zone("a", "1")],
      [],
      "0/1 nodes are available: 1 node(s) didn't match pod affinity rules.",
    ],
    [
      "required affinity to its own group, of which it is the first pod",
      labelled(WEB, near(term(WEB))),
      [zone("a", "1")],
      [],
      "a",
    ],
    [
      "required anti-affinity to a pod",
      labelled({}, away(term(WEB))),
      [zone("a", "1")],
      [labelled(WEB, {}, "a")],
      "0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules.",
    ],
    [
      "required anti-affinity of an existing pod",
      labelled(WEB),
      [zone("a", "1")],
      [labelled({}, away(term(WEB)), "a")],
      "0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules.",
    ],
    [
      "a term selects pods of the pod's own namespace",
      labelled({}, away(term(WEB))),
      [zone("a", "1")],
      [labelled(WEB, {}, "a", "other")],
      "a",
    ],
    [
      "a term can select namespaces by label",
      labelled({}, away(term(WEB, { namespaceSelector: { matchLabels: { team: "other" } } }))),
      [zone("a", "1")],
      [labelled(WEB, {}, "a", "other")],
      "0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules.",
    ],
    [
      "preferred affinity to a pod",
      labelled(
        {},
        {
          affinity: {
            podAffinity: {
              preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: term(WEB) }],
            },
          },
        },
      ),
      [zone("a", "1"), zone("b", "2")],
      [labelled(WEB, {}, "b")],
      "b",
    ],
    [
      "topology spread over zones",
      labelled(WEB, spread()),
      [zone("a", "1"), zone("b", "2")],
      [labelled(WEB, {}, "a")],
      "b",
    ],
    [
      "topology spread beyond the allowed skew",
      labelled(WEB, spread()),
      [zone("a", "1"), nodeOf("b", { labels: { "topology.kubernetes.io/zone": "2" }, spec: { unschedulable: true } })],
      [labelled(WEB, {}, "a")],
      "0/2 nodes are available: 1 node(s) didn't match pod topology spread constraints, 1 node(s) were unschedulable.",
    ],
    [
      "topology spread on nodes without the label",
      labelled(WEB, spread()),
      [nodeOf("a")],
      [],
      "0/1 nodes are available: 1 node(s) didn't match pod topology spread constraints (missing required label).",
    ],
    [
      "topology spread with ScheduleAnyway",
      labelled(WEB, spread("ScheduleAnyway")),
      [zone("a", "1"), zone("b", "2")],
      [labelled(WEB, {}, "a")],
      "b",
    ],
    [
      "the node with more free resources",
      podOf("p", asking({ cpu: "100m", memory: "100Mi" })),
      [nodeOf("a"), nodeOf("b")],
      [podOf("b", asking({ cpu: "1", memory: "2Gi" }), { node: "a" })],
      "b",
    ],
    [
      "the node that has the image",
      podOf("p"),
      [nodeOf("a"), nodeOf("b", { images: [{ names: ["web:latest"], sizeBytes: 900_000_000 }] })],
      [],
      "b",
    ],
  ]
  test.each(table)("%s", (_title, pod, nodes, bound, outcome) => {
    expect(outcomeOf(pod, nodes, bound)).toBe(outcome)
  })
})

test.each([
  [50, 50],
  [99, 99],
  [100, 100],
  [1000, 420],
  [5000, 500],
  [20_000, 1000],
])("of %d nodes, the search ends after %d feasible ones", (nodes, enough) => {
  expect(feasibleToFind(nodes)).toBe(enough)
})
