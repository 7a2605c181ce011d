import { describe, expect, test } from "bun:test"
import { ENSURED, isUnwanted, revised, type FlowObject } from "./ensured-objects.ts"

const KEY = "apf.kubernetes.io/autoupdate-spec"
const wantedNamed = (kind: string, name: string) =>
  ENSURED.find((each) => each.resource.kind === kind && each.name === name)!

interface Case {
  readonly title: string
  /** The value of the annotation; null if there is none. */
  readonly annotation: string | null
  readonly generation: number
  readonly isChanged: boolean
  readonly wants: { readonly annotation: string; readonly isRestored: boolean; readonly generation: number }
}

/** The priority level `system`, or `catch-all`, as it is stored. */
function stored(name: string, { annotation, generation, isChanged }: Case): FlowObject {
  const { object, resource } = wantedNamed("PriorityLevelConfiguration", name)
  const spec = isChanged ? { ...object.spec, limited: { nominalConcurrencyShares: 7 } } : object.spec
  return {
    apiVersion: resource.apiVersion,
    kind: resource.kind,
    metadata: { name, generation, annotations: annotation === null ? {} : { [KEY]: annotation } },
    spec,
    status: {},
  } as FlowObject
}

function check(name: string, given: Case): void {
  const before = stored(name, given)
  const after = revised(before, wantedNamed("PriorityLevelConfiguration", name))
  const { spec } = wantedNamed("PriorityLevelConfiguration", name).object
  expect({
    annotation: after.metadata.annotations?.[KEY],
    isRestored: given.isChanged && after.spec === spec,
    generation: after.metadata.generation,
  } as Case["wants"]).toEqual(given.wants)
}

describe("a suggested object", () => {
  test.each<Case>([
    {
      title: "that is up to date stays",
      annotation: "true",
      generation: 1,
      isChanged: false,
      wants: { annotation: "true", isRestored: false, generation: 1 },
    },
    {
      title: "that was changed is corrected",
      annotation: "true",
      generation: 2,
      isChanged: true,
      wants: { annotation: "true", isRestored: true, generation: 3 },
    },
    {
      title: "is left alone if its annotation says so",
      annotation: "false",
      generation: 2,
      isChanged: true,
      wants: { annotation: "false", isRestored: false, generation: 2 },
    },
    {
      title: "without annotation that was never changed is corrected",
      annotation: null,
      generation: 1,
      isChanged: true,
      wants: { annotation: "true", isRestored: true, generation: 2 },
    },
    {
      title: "without annotation that was changed is left alone from then on",
      annotation: null,
      generation: 2,
      isChanged: true,
      wants: { annotation: "false", isRestored: false, generation: 2 },
    },
    {
      title: "with an invalid annotation is treated as one without",
      annotation: "maybe",
      generation: 3,
      isChanged: true,
      wants: { annotation: "false", isRestored: false, generation: 3 },
    },
    {
      title: "whose annotation is spelled in another way keeps the spelling",
      annotation: "T",
      generation: 1,
      isChanged: false,
      wants: { annotation: "T", isRestored: false, generation: 1 },
    },
  ])("$title", (given) => check("system", given))
})

describe("a mandatory object", () => {
  test.each<Case>([
    {
      title: "is corrected even if its annotation says otherwise",
      annotation: "false",
      generation: 2,
      isChanged: true,
      wants: { annotation: "true", isRestored: true, generation: 3 },
    },
    {
      title: "gets its annotation corrected",
      annotation: "false",
      generation: 1,
      isChanged: false,
      wants: { annotation: "true", isRestored: false, generation: 1 },
    },
    {
      title: "gets its missing annotation",
      annotation: null,
      generation: 9,
      isChanged: false,
      wants: { annotation: "true", isRestored: false, generation: 9 },
    },
  ])("$title", (given) => check("catch-all", given))

  test("named exempt keeps the concurrency shares and the lendable part that an administrator sets", () => {
    const wanted = wantedNamed("PriorityLevelConfiguration", "exempt")
    const object = {
      ...stored("exempt", {
        title: "",
        annotation: "true",
        generation: 2,
        isChanged: false,
        wants: { annotation: "", isRestored: false, generation: 0 },
      }),
      spec: { type: "Exempt", exempt: { nominalConcurrencyShares: 40, lendablePercent: 20 } },
    } as FlowObject
    expect(revised(object, wanted)).toBe(object)
  })
})

test.each([
  { title: "one that the server created is deleted", name: "old", annotation: "true", wants: true },
  { title: "one that a user created stays", name: "mine", annotation: undefined, wants: false },
  { title: "one whose annotation says so stays", name: "mine", annotation: "false", wants: false },
  { title: "one that is still in the defaults stays", name: "system", annotation: "true", wants: false },
])("of the objects that are not among the defaults any more, $title", ({ name, annotation, wants }) => {
  const annotations = annotation === undefined ? {} : { [KEY]: annotation }
  const object = { apiVersion: "flowcontrol.apiserver.k8s.io/v1", kind: "PriorityLevelConfiguration" }
  expect(isUnwanted({ ...object, metadata: { name, annotations } })).toBe(wants)
})
