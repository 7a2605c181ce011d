import { describe, expect, test } from "bun:test"
import { e, f, message } from "../../pkg/apimachinery/fields.ts"
import { defineResource } from "../../pkg/apimachinery/resource.ts"
import { typesOfKinds } from "./kind-types.ts"

const Part = message("example.v1.Part", "A part.", {
  name: f.string(1, "Its name.").required(),
  policy: f.string(2, "What to do.").enum("Keep", "Drop").default("Keep"),
})
const Plain = message("example.v1.Plain", "", {
  times: f.list(1, e.time, "When."),
  size: f.intOrString(2, "How large."),
})
const OtherPlain = message("other.v1.Plain", "", { any: f.json(1, "Anything.") })

const Thing = defineResource(
  { group: "example.com", version: "v1", kind: "Thing", plural: "things", scope: "Namespaced", doc: "A thing." },
  {
    parts: f.list(2, Part, "Its parts."),
    plain: f.message(3, Plain, "Always there.").always(),
    others: f.map(4, OtherPlain, "By name."),
  },
)

describe("the types of a kind", () => {
  const { text, names } = typesOfKinds(new Map([["Thing", Thing]]), [], "")

  test("have what was filled in when it is read, and may lack it when it is sent", () => {
    expect(text).toContain(`export interface Part {
  /** Its name. */
  readonly name: string
  /** What to do. */
  readonly policy: "Keep" | "Drop"
}`)
    expect(text).toContain(`export interface PartInput {
  /** Its name. */
  readonly name: string
  /** What to do. */
  readonly policy?: "Keep" | "Drop" | undefined
}`)
  })

  test("have one type for a struct that is read as it is sent", () => {
    expect(names.has("Plain")).toBe(true)
    expect(names.has("PlainInput")).toBe(false)
    expect(text).toContain("readonly plain: Plain\n")
    expect(text).toContain("readonly plain?: Plain | undefined\n")
  })

  test("have null for a time in a list, and either form of an intOrString", () => {
    expect(text).toContain("readonly times?: readonly (string | null)[] | undefined")
    expect(text).toContain("readonly size?: number | string | undefined")
  })

  test("name the group of a struct whose name another group has too", () => {
    expect(text).toContain("readonly others?: { readonly [key: string]: OtherPlain } | undefined")
  })

  test("go with the kind as a value", () => {
    expect(text).toContain("/** A thing. */\nexport declare const Thing: Resource<Thing, ThingInput>")
  })
})
