import { describe, expect, test } from "bun:test"
import { exactValue } from "../../apimachinery/json/exact-number.ts"
import { bytesOf } from "../../go-fmt/go-bytes.ts"
import { GoTemplate } from "../../go-template/go-template.ts"
import { TemplateError } from "../../go-template/template-error.ts"
import { KUBECTL_FUNCTIONS } from "./template-functions.ts"

/** What kubectl's template printer answered. */
interface Recorded {
  readonly data: object
  readonly rows: readonly {
    readonly template: string
    readonly missingKey?: "error"
    /** The error of parsing. */
    readonly fault?: string
    readonly output?: string
    readonly error?: string
  }[]
}

const text = await Bun.file(new URL("template-functions.recorded.json", import.meta.url)).text()
const { data, rows } = JSON.parse(text, exactValue) as unknown as Recorded

describe("a template answers as kubectl's", () => {
  test.each(rows)("$template", ({ template, missingKey, fault, output, error }) => {
    // Given the template
    let parsed: GoTemplate | TemplateError
    try {
      parsed = new GoTemplate("output", template, KUBECTL_FUNCTIONS)
    } catch (thrown) {
      parsed = thrown as TemplateError
    }
    if (!(parsed instanceof GoTemplate)) return expect(parsed.message).toBe(fault!)
    expect(fault).toBeUndefined()

    // When it is executed on the data
    let written = ""
    let failure: string | undefined
    try {
      parsed.execute(data, (part) => (written += part), missingKey ?? "default")
    } catch (thrown) {
      if (!(thrown instanceof TemplateError)) throw thrown
      failure = thrown.message
    }

    // Then output and error are kubectl's
    expect(Buffer.from(bytesOf(written)).toString()).toBe(output!)
    expect(failure).toBe(error!)
  })
})

test("bytes that are no characters come out as they went in", () => {
  let written = ""
  new GoTemplate("output", "{{base64decode .}}", KUBECTL_FUNCTIONS).execute("/wD+gMOp", (part) => (written += part))
  expect([...bytesOf(written)]).toEqual([0xff, 0, 0xfe, 0x80, 0xc3, 0xa9])
})
