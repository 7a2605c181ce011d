import { describe, expect, test } from "bun:test"
import { e, f, message } from "../../pkg/apimachinery/fields.ts"
import { defineResource } from "../../pkg/apimachinery/resource.ts"
import { typesOfKinds } from "./kind-types.ts"

const Part = message("example.v1.Part", "A part.", {
  name: f.string(1, "Its name.").required(),
  policy: f.string(2, "What to do.").enum("Keep", "Drop").default("Keep"),
  "x-more": f.bool(3, "Whether there is more."),
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

  test("have fields with defaults as required when read, and as optional when sent", () => {
    expect(text).toContain(`export interface Part {
  /** Its name. */
  readonly name: string
  /** What to do. */
  readonly policy: "Keep" | "Drop"
  /** Whether there is more. */
  readonly "x-more"?: boolean | undefined
}`)
    expect(text).toContain(`export interface PartInput {
  /** Its name. */
  readonly name: string
  /** What to do. */
  readonly policy?: "Keep" | "Drop" | undefined
  /** Whether there is more. */
  readonly "x-more"?: boolean | undefined
}`)
  })

  test("have one type for a struct that is the same when read and when sent", () => {
    expect(names.has("Plain")).toBe(true)
    expect(names.has("PlainInput")).toBe(false)
    expect(text).toContain("readonly plain: Plain\n")
    expect(text).toContain("readonly plain?: Plain | undefined\n")
  })

  test("allow null for a time in a list, and both forms of an intOrString", () => {
    expect(text).toContain("readonly times?: readonly (string | null)[] | undefined")
    expect(text).toContain("readonly size?: number | string | undefined")
  })

  test("contain the group in the name of a struct that another group has too", () => {
    expect(text).toContain("readonly others?: { readonly [key: string]: OtherPlain } | undefined")
  })

  test("are exported together with the kind's value", () => {
    expect(text).toContain("/** A thing. */\nexport declare const Thing: Resource<Thing, ThingInput>")
  })
})
