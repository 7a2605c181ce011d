import { describe, expect, test } from "bun:test"
import { exactValue } from "../apimachinery/json/exact-number.ts"
import { JsonPathError } from "./jsonpath-error.ts"
import { JsonPath } from "./jsonpath.ts"
import { relaxedJsonPath } from "./relaxed.ts"

/** What client-go's util/jsonpath answered. */
interface Recorded {
  readonly data: object
  readonly rows: readonly {
    readonly template: string
    readonly allowMissingKeys?: boolean
    readonly outputJson?: boolean
    readonly output?: string
    readonly error?: string
  }[]
}

const text = await Bun.file(new URL("recorded.json", import.meta.url)).text()
const { data, rows } = JSON.parse(text, exactValue) as unknown as Recorded

describe("a JSONPath answers as client-go's", () => {
  test.each(rows)("$template", ({ template, output, error, ...options }) => {
    // When the template is parsed and executed
    let answer: { readonly output?: string; readonly error?: string }
    try {
      answer = { output: new JsonPath(template, options).execute(data) }
    } catch (thrown) {
      if (!(thrown instanceof JsonPathError)) throw thrown
      answer = { error: thrown.message }
    }
    // Then output or error are client-go's
    expect(answer).toEqual(error === undefined ? { output: output! } : { error })
  })
})

test("a template with a range cannot be executed twice, as client-go's cannot", () => {
  const path = new JsonPath("{range .l[*]}{@}{end}")
  expect(path.execute({ l: [1, 2] })).toBe("12")
  expect(() => path.execute({ l: [1, 2] })).toThrow("not in range, nothing to end")
})

test.each([
  { path: "metadata.name", wants: "{.metadata.name}" },
  { path: ".metadata.name", wants: "{.metadata.name}" },
  { path: "{metadata.name}", wants: "{.metadata.name}" },
  { path: "{.metadata.name}", wants: "{.metadata.name}" },
  { path: "", wants: "" },
])("the relaxed path $path means $wants", ({ path, wants }) => {
  expect(relaxedJsonPath(path)).toBe(wants)
})

test("a relaxed path is one expression", () => {
  expect(() => relaxedJsonPath("{.a}{.b}")).toThrow("unexpected path string, expected a 'name1.name2'")
})
