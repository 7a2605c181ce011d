import { describe, expect, test } from "bun:test"
import { exactValue } from "../apimachinery/json/exact-number.ts"
import { bytesOf } from "../go-fmt/go-bytes.ts"
import { GoTemplate } from "./go-template.ts"
import { TemplateError } from "./template-error.ts"

/** What Go's text/template answered. */
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

const text = await Bun.file(new URL("recorded.json", import.meta.url)).text()
const { data, rows } = JSON.parse(text, exactValue) as unknown as Recorded

describe("a template answers as Go's text/template", () => {
  test.each(rows)("$template", ({ template, missingKey, fault, output, error }) => {
    // Given the template
    let parsed: GoTemplate | TemplateError
    try {
      parsed = new GoTemplate("output", template)
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

    // Then output and error are Go's
    expect(Buffer.from(bytesOf(written)).toString()).toBe(output!)
    expect(failure).toBe(error!)
  })
})

test("a template that calls itself without end fails with Go's message", () => {
  const template = new GoTemplate("output", '{{define "x"}}{{template "x"}}{{end}}{{template "x"}}')
  expect(() => template.execute({}, () => undefined)).toThrow("exceeded maximum template depth (100000)")
})
