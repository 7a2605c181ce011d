import { describe, expect, test } from "bun:test"
import type { PolicyRule } from "../../../pkg/api/rbac/v1/rules.ts"
import { seededRandom } from "../../../pkg/clock/random.ts"
import { HeldRights, TooManyRights } from "./coverage.ts"

const on = (
  verbs: readonly string[],
  groups: readonly string[],
  resources: readonly string[],
  names?: readonly string[],
): PolicyRule => ({
  verbs,
  apiGroups: groups,
  resources,
  ...(names === undefined ? {} : { resourceNames: names }),
})
const many = (word: string, count: number) => Array.from({ length: count }, (_, i) => `${word}${i}`)
const lackedOf = (held: readonly PolicyRule[], wanted: readonly PolicyRule[]) => new HeldRights(held).lackedOf(wanted)

describe("what a user lacks of rules", () => {
  test.each<[title: string, held: PolicyRule[], wanted: PolicyRule]>([
    ["the same rule", [on(["get"], [""], ["pods"])], on(["get"], [""], ["pods"])],
    [
      "a rule that several held rules cover together",
      [on(["get"], [""], ["pods"]), on(["list"], [""], ["pods"])],
      on(["get", "list"], [""], ["pods"]),
    ],
    [
      "any rule of one who holds everything",
      [on(["*"], ["*"], ["*"])],
      on(["get", "*"], ["a", "*"], ["b", "*", "c/d"], ["n"]),
    ],
    ["a subresource of all resources", [on(["get"], [""], ["*/scale"])], on(["get"], [""], ["deployments/scale"])],
    ["one name of all", [on(["get"], [""], ["pods"])], on(["get"], [""], ["pods"], ["a"])],
    [
      "a path below another",
      [{ verbs: ["get"], nonResourceURLs: ["/healthz/*"] }],
      { verbs: ["get"], nonResourceURLs: ["/healthz/x"] },
    ],
    [
      "any path of one who holds all paths",
      [{ verbs: ["*"], nonResourceURLs: ["*"] }],
      { verbs: ["get", "*"], nonResourceURLs: ["/healthz", "*", "/a/*"] },
    ],
    ["a rule without resources", [], on(["get"], [""], [])],
  ])("is nothing: %s", (_, held, wanted) => {
    expect(lackedOf(held, [wanted])).toBeUndefined()
  })

  test.each<[title: string, held: PolicyRule[], wanted: PolicyRule, lacking: PolicyRule[]]>([
    [
      "another verb",
      [on(["get"], [""], ["pods"])],
      on(["get", "list"], [""], ["pods"]),
      [on(["list"], [""], ["pods"])],
    ],
    [
      "every name, where one is held",
      [on(["get"], [""], ["pods"], ["a"])],
      on(["get"], [""], ["pods"]),
      [on(["get"], [""], ["pods"])],
    ],
    [
      "every name, where the empty one is held",
      [on(["get"], [""], ["pods"], [""])],
      on(["get"], [""], ["pods"]),
      [on(["get"], [""], ["pods"])],
    ],
    [
      "another name, where the empty one is held",
      [on(["get"], [""], ["pods"], [""])],
      on(["get"], [""], ["pods"], ["a"]),
      [on(["get"], [""], ["pods"], ["a"])],
    ],
    [
      "everything, where all but a star is held",
      [on(["get"], [""], ["pods"])],
      on(["*"], [""], ["pods"]),
      [on(["*"], [""], ["pods"])],
    ],
    [
      "a path above another",
      [{ verbs: ["get"], nonResourceURLs: ["/healthz/*"] }],
      { verbs: ["get"], nonResourceURLs: ["/healthz"] },
      [{ verbs: ["get"], nonResourceURLs: ["/healthz"] }],
    ],
    [
      "verbs of one resource as one rule, verbs of a path each",
      [],
      { ...on(["get", "list"], ["", "apps"], ["pods"]), nonResourceURLs: ["/x"] },
      [
        on(["get", "list"], [""], ["pods"]),
        on(["get", "list"], ["apps"], ["pods"]),
        { verbs: ["get"], nonResourceURLs: ["/x"] },
        { verbs: ["list"], nonResourceURLs: ["/x"] },
      ],
    ],
  ])("is %s", (_, held, wanted, lacking) => {
    expect(lackedOf(held, [wanted])).toEqual({ rules: lacking, isCut: false })
  })

  test("is what a comparison of each single right finds, for random rules", () => {
    const random = seededRandom(7)
    const some = (values: readonly string[]) => values.filter(() => random.next() < 0.4)
    const rule = (): PolicyRule =>
      on(
        some(["get", "list", "*"]),
        some(["", "apps", "*"]),
        some(["a", "b", "a/x", "*/x", "*"]),
        random.next() < 0.5 ? undefined : some(["n", "m", ""]),
      )
    for (let i = 0; i < 3000; i++) {
      const held = Array.from({ length: Math.floor(random.next() * 5) }, rule)
      const wanted = rule()
      expect({ held, wanted, isCovered: lackedOf(held, [wanted]) === undefined }).toEqual({
        held,
        wanted,
        isCovered: singleRights(wanted).every((right) => held.some((one) => allows(one, right))),
      })
    }
  })
})

describe("a rule of a few kilobytes that stands for millions of rights", () => {
  test("is refused with the first of the rights, of which the rest is not made", () => {
    const wanted = on(many("v", 400), many("g", 400), many("r", 400))
    const lacking = lackedOf([on(["get"], [""], ["pods"])], [wanted])
    expect(lacking?.isCut).toBe(true)
    expect(JSON.stringify(lacking?.rules).length).toBeLessThan(200_000)
  })

  test("is granted to one who holds all of it in parts", () => {
    const [verbs, groups, resources] = [many("v", 400), many("g", 400), many("r", 400)]
    const held = [on(verbs.slice(0, 200), groups, resources), on(verbs.slice(100), groups, resources)]
    expect(lackedOf(held, [on(verbs, groups, resources)])).toBeUndefined()
  })

  test("is refused where it cannot be compared with what is held in few steps", () => {
    // given held rules that differ in each verb, group and resource, so that every combination is another one
    const random = seededRandom(1)
    const some = (word: string) => many(word, 60).filter(() => random.next() < 0.5)
    const held = Array.from({ length: 400 }, () => on(some("v"), some("g"), some("r")))

    const compare = () => lackedOf(held, [on(many("v", 60), many("g", 60), many("r", 60))])

    expect(compare).toThrow(TooManyRights)
    // but copies of what is held need no comparison
    expect(lackedOf(held, held)).toBeUndefined()
  })

  test("is refused with no more than a page of names, however long each of them is", () => {
    const long = many("r".repeat(10_000), 40)
    const lacking = lackedOf([], [on(["get"], [""], long)])
    expect(lacking?.isCut).toBe(true)
    expect(JSON.stringify(lacking?.rules).length).toBeLessThan(100_000)
  })
})

test("eight thousand rules are compared with eight thousand held ones", () => {
  const rules = Array.from({ length: 8000 }, (_, i) => on(["get", "list"], [`g${i}`], [`r${i}`]))
  expect(
    lackedOf(
      rules,
      rules.map(({ verbs, ...rule }) => ({ ...rule, verbs: [...verbs].reverse() })),
    ),
  ).toBeUndefined()
})

interface Right {
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly name: string | undefined
}

const singleRights = ({ verbs, apiGroups = [], resources = [], resourceNames = [] }: PolicyRule): Right[] =>
  verbs.flatMap((verb) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        (resourceNames.length === 0 ? [undefined] : resourceNames).map((name) => ({ verb, group, resource, name })),
      ),
    ),
  )

function allows({ verbs, apiGroups = [], resources = [], resourceNames = [] }: PolicyRule, right: Right): boolean {
  const has = (list: readonly string[], value: string) => list.includes(value) || list.includes("*")
  const { verb, group, resource, name } = right
  const slash = resource.indexOf("/")
  return (
    has(verbs, verb) &&
    has(apiGroups, group) &&
    (has(resources, resource) || (slash > 0 && resources.includes(`*${resource.slice(slash)}`))) &&
    (resourceNames.length === 0 || (name !== undefined && resourceNames.includes(name)))
  )
}
