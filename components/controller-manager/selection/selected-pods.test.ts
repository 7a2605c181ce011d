import { expect, test } from "bun:test"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { fromLabelSelector } from "../../../pkg/apimachinery/selectors/labels.ts"
import type { LabelSelector } from "../../../pkg/apimachinery/meta.ts"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import { ObjectCache } from "../../../pkg/client/object-cache.ts"
import { seededRandom } from "../../../pkg/clock/random.ts"
import { selectedPods } from "./selected-pods.ts"
import { labelsOf, selectingObjects } from "./selecting-objects.ts"

type Labels = Readonly<Record<string, string>>

const podOf = (name: string, namespace: string, labels: Labels | undefined): Pod =>
  ({ apiVersion: "v1", kind: "Pod", metadata: { name, namespace, ...(labels && { labels }) } }) as unknown as Pod

interface Selecting extends KubeObject {
  readonly selector: LabelSelector | undefined
}

/** What an informer has, and how often it was read as a whole. */
class Counted<T extends KubeObject> extends ObjectCache<T> {
  wholes = 0
  override list(namespace: string | undefined): readonly T[] {
    this.wholes++
    return super.list(namespace)
  }
}

const KEYS = ["app", "tier", "example.com/part"]
const VALUES = ["", "a", "b", "c"]

const byName = (found: readonly KubeObject[]) =>
  found.map(({ metadata: { name = "" } }) => name).toSorted((a, b) => (a < b ? -1 : 1))

test("an index finds the same pods and the same selecting objects as a look at all of them", () => {
  const random = seededRandom(7)
  const draw = <V>(values: readonly V[]): V => values[Math.floor(random.next() * values.length)]!
  const labels = (): Labels | undefined =>
    random.next() < 0.1
      ? undefined
      : Object.fromEntries(KEYS.filter(() => random.next() < 0.6).map((key) => [key, draw(VALUES)]))
  const selectorOf = (): LabelSelector | undefined => {
    if (random.next() < 0.05) return undefined
    const matchLabels = Object.fromEntries(KEYS.filter(() => random.next() < 0.4).map((key) => [key, draw(VALUES)]))
    const operator = draw(["In", "NotIn", "Exists", "DoesNotExist"])
    const values = operator.endsWith("n") ? VALUES.filter(() => random.next() < 0.4).concat("z") : []
    return { matchLabels, ...(random.next() < 0.4 && { matchExpressions: [{ key: draw(KEYS), operator, values }] }) }
  }
  const [pods, objects] = [new ObjectCache<Pod>(), new ObjectCache<Selecting>()]
  const finder = selectingObjects<Selecting>("test", ({ selector }) => fromLabelSelector(selector))
  for (let step = 0; step < 500; step++) {
    // given pods and objects that change
    const [name, namespace] = [`${Math.floor(random.next() * 60)}`, draw(["one", "two"])]
    const old = pods.get(`${namespace}/${name}`)
    const pod = podOf(name, namespace, labels())
    if (random.next() < 0.2) pods.delete(`${namespace}/${name}`)
    else pods.set(pod)
    const selector = selectorOf()
    const metadata = { name: `${step % 40}`, namespace }
    objects.set({ apiVersion: "v1", kind: "Selecting", metadata, selector } as Selecting)
    // when they are found by an index; then they are those that match
    const matcher = fromLabelSelector(selector)
    expect(byName(selectedPods(pods, namespace, matcher))).toEqual(
      byName(pods.list(namespace).filter((one) => matcher.matches(one.metadata.labels))),
    )
    expect(byName(finder.selecting(objects, namespace, ...labelsOf(pod, old)))).toEqual(
      byName(
        objects
          .list(namespace)
          .filter((one) =>
            [pod, old].some((each) => each && fromLabelSelector(one.selector).matches(each.metadata.labels)),
          ),
      ),
    )
  }
})

test("pods of other workloads of a namespace are not read, unless a selector wants no label with one value", () => {
  // given
  const pods = new Counted<Pod>()
  for (let i = 0; i < 100; i++) pods.set(podOf(`${i}`, "one", { app: i === 7 ? "web" : "other" }))
  // when, then
  expect(selectedPods(pods, "one", fromLabelSelector({ matchLabels: { app: "web" } }))).toHaveLength(1)
  expect(pods.wholes).toBe(0)
  expect(
    selectedPods(pods, "one", fromLabelSelector({ matchExpressions: [{ key: "app", operator: "Exists" }] })),
  ).toHaveLength(100)
  expect(pods.wholes).toBe(1)
})

test("selectors of many different labels do not make an index each", () => {
  // given
  const pods = new Counted<Pod>()
  pods.set(podOf("a", "one", Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`key-${i}`, "x"]))))
  // when
  for (let i = 0; i < 100; i++)
    expect(selectedPods(pods, "one", fromLabelSelector({ matchLabels: { [`key-${i}`]: "x" } }))).toHaveLength(1)
  // then most were found by a look at the whole namespace
  expect(pods.wholes).toBe(84)
})
