import { describe, expect, test } from "bun:test"
import { manualPages, roff } from "./man.ts"
import { referencePage } from "./markdown.ts"

test("the reference page of each command is generated from its declarations", async () => {
  // `bun hack/reference/markdown.ts` writes it
  const { text, wanted } = await referencePage()
  expect(text).toBe(wanted)
})

describe("manual pages", () => {
  test("are the same each time, for the same version and date", async () => {
    const options = { version: "1.2.3", epoch: 86_400 }
    const pages = await manualPages(options)
    expect(await manualPages(options)).toEqual(pages)
    expect(pages.map(({ text }) => text.split("\n")[0]!)).toContain(
      '.TH K3TS\\-SERVER 1 1970-01-02 "k3ts 1.2.3" "k3ts"',
    )
    expect(pages[0]?.name).toBe("k3ts.1")
  })

  test("contain every flag with its environment variable", async () => {
    const server = (await manualPages({ version: "1", epoch: 0 })).find(({ name }) => name === "k3ts-server.1")
    expect(server?.text).toContain("\\fB\\-d\\fR, \\fB\\-\\-data\\-dir\\fR \\fIDIR\\fR")
    expect(server?.text).toContain("K3TS_DATA_DIR")
  })

  test.each([
    { title: "hyphens, which stay hyphens when copied", given: "--data-dir", wants: "\\-\\-data\\-dir" },
    { title: "a backslash", given: "a\\b", wants: "a\\(rsb" },
    {
      title: "a dot at the start of a line, which would be a request",
      given: ".so /etc/shadow",
      wants: "\\&.so /etc/shadow",
    },
    { title: "a quote at the start of a line, which would be a request", given: "'br", wants: "\\&'br" },
    {
      title: "a dot that comes to the start of a line by wrapping",
      given: `${"x".repeat(77)} .so`,
      wants: `${"x".repeat(77)}\n\\&.so`,
    },
    { title: "letters beyond ASCII", given: "1–2 ü", wants: "1\\(en2 \\[u00FC]" },
    { title: "the end of a sentence", given: "One. Two", wants: "One.\nTwo" },
  ])("escape $title", ({ given, wants }) => {
    expect(roff(given)).toBe(wants)
  })
})
