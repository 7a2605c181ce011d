import { expect, test } from "bun:test"
import type { PodAffinityTerm } from "../../../pkg/api/core/v1/pod/scheduling/affinity.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { TermSet, TopologyCounts } from "./pod-terms.ts"

const pod = (labels: Record<string, string>, namespace = "default") => ({ metadata: { namespace, labels } }) as Pod
const NODE = { host: "a", zone: "z" }
const OWNER = pod({})

const HERE = { topologyKey: "host" }
const terms: readonly PodAffinityTerm[] = [
  { ...HERE, labelSelector: { matchLabels: { app: "web" } } },
  { ...HERE, labelSelector: { matchExpressions: [{ key: "app", operator: "In", values: ["db", "web", "web"] }] } },
  { ...HERE, labelSelector: { matchExpressions: [{ key: "app", operator: "NotIn", values: ["db"] }] } },
  { ...HERE, labelSelector: { matchExpressions: [{ key: "app", operator: "Exists" }] } },
  { ...HERE, labelSelector: {} },
  { ...HERE },
  { topologyKey: "rack", labelSelector: {} },
  { topologyKey: "zone", labelSelector: { matchLabels: { app: "web" } }, namespaces: ["other"] },
  { topologyKey: "zone", labelSelector: {}, namespaceSelector: { matchLabels: { team: "x" } } },
]
const numbers = (about: Pod): readonly number[] =>
  [...TermSet.of(weighted).matching(OWNER, about, NODE, (name) => ({ team: name }))]
    .map(({ weight }) => weight)
    .toSorted((a, b) => a - b)
const weighted = terms.map((podAffinityTerm, weight) => ({ weight, podAffinityTerm }))

test.each([
  [pod({ app: "web" }), [0, 1, 2, 3, 4]],
  [pod({ app: "db" }), [1, 3, 4]],
  [pod({}), [2, 4]],
  [pod({ app: "web" }, "other"), [7]],
  [pod({ app: "web" }, "x"), [8]],
])("the terms that match the pod %j are found, each once, where the node has their topology key", (about, expected) => {
  expect(numbers(about)).toEqual(expected)
})

test("of the terms with one topology key one match is enough to mark its place", () => {
  const places = new TopologyCounts()
  TermSet.of(terms).mark(places, OWNER, pod({ app: "web" }), NODE, () => ({}))
  expect([places.get("host", "a"), places.get("zone", "z"), places.get("rack", "z")]).toEqual([1, 0, 0])
})

test("a pod is compared with those of thousands of terms whose label it has", () => {
  // given terms that ask for the labels of a namespace when their selector matches
  let asked = 0
  const many = Array.from({ length: 4000 }, (_, i) => ({
    ...HERE,
    labelSelector: { matchLabels: { app: `app-${i}` } },
    namespaceSelector: { matchLabels: { team: "x" } },
  }))
  const labelsOf = () => ({ team: `y${asked++}` })
  // when
  const found = [...TermSet.of(many).matching(OWNER, pod({ app: "app-7", other: "app-8" }), NODE, labelsOf)]
  // then
  expect([found.length, asked]).toEqual([0, 1])
  expect(TermSet.of(many)).toBe(TermSet.of(many))
})
