import { expect, test } from "bun:test"
import { parseLabelSelector } from "../../../pkg/apimachinery/selectors/labels.ts"
import { PodSelectors } from "./selectors.ts"

const pod = (labels: Readonly<Record<string, string>>) => ({ metadata: { labels } })
const selecting = (given: Readonly<Record<string, string>>, labels: Readonly<Record<string, string>>) => {
  const selectors = new PodSelectors()
  for (const [name, selector] of Object.entries(given))
    selectors.set({ namespace: "default", name }, parseLabelSelector(selector))
  return selectors.selecting("default", [pod(labels)]).map(({ name }) => name)
}

interface Row {
  readonly title: string
  readonly given: Readonly<Record<string, string>>
  readonly labels: Readonly<Record<string, string>>
  readonly wants: readonly string[]
}

test.each<Row>([
  { title: "one label", given: { a: "app=web", b: "app=db" }, labels: { app: "web" }, wants: ["a"] },
  { title: "several labels", given: { a: "app=web,tier=x", b: "app=web" }, labels: { app: "web" }, wants: ["b"] },
  { title: "a set", given: { a: "app in (web,db)", b: "app notin (web)" }, labels: { app: "web" }, wants: ["a"] },
  { title: "a selector without labels", given: { a: "!app" }, labels: {}, wants: ["a"] },
  {
    title: "a selector of the same pods",
    given: { b: "app=web", a: "tier=x" },
    labels: { app: "web", tier: "x" },
    wants: ["a", "b"],
  },
])("autoscalers are found by $title", ({ given, labels, wants }) => {
  expect(selecting(given, labels)).toEqual([...wants])
})

test("an autoscaler is found by its current selector, in its namespace only, until it is deleted", () => {
  const selectors = new PodSelectors()
  const named = { namespace: "default", name: "a" }
  selectors.set(named, parseLabelSelector("app=web"))
  selectors.set(named, parseLabelSelector("app=db"))
  expect(selectors.selecting("default", [pod({ app: "web" })])).toEqual([])
  expect(selectors.selecting("default", [pod({ app: "db" })])).toMatchObject([named])
  expect(selectors.selecting("other", [pod({ app: "db" })])).toEqual([])
  selectors.delete("default/a")
  expect(selectors.selecting("default", [pod({ app: "db" })])).toEqual([])
})
