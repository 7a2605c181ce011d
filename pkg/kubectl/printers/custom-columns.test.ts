import { describe, expect, test } from "bun:test"
import type { Unstructured } from "../rest/json.ts"
import { customColumnsPrinter } from "./custom-columns.ts"
import { TextOutput } from "./output.ts"
import { watchEventObject } from "./printer.ts"

const pod = (name: string, images: readonly string[]): Unstructured => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, labels: { app: "web" } },
  spec: { containers: images.map((image) => ({ image })), priority: null },
})
const list = (...items: Unstructured[]): Unstructured => ({ kind: "List", apiVersion: "v1", metadata: {}, items })

async function printed(
  format: string,
  objects: readonly Unstructured[],
  { noHeaders = false, template = "", file = "" } = {},
): Promise<string> {
  const readFile = (path: string) =>
    path === "columns"
      ? Promise.resolve(new TextEncoder().encode(file))
      : Promise.reject(new Error(`open ${path}: no such file or directory`))
  const printer = await customColumnsPrinter(format, { noHeaders, template, parts: { readFile, outputIsSet: true } })
  const out = new TextOutput()
  for (const object of objects) await printer.print(object, out)
  return out.text
}

describe("custom-columns prints", () => {
  const pods = list(pod("a", ["nginx", "busybox"]), pod("b\u001b", []))

  test("a line for each item, values of lists joined, and <none> and <nil>", async () => {
    expect(
      await printed("custom-columns=NAME:metadata.name,IMAGES:{.spec.containers[*].image},P:.spec.priority", [pods]),
    ).toBe("NAME   IMAGES          P\na      nginx,busybox   <nil>\nb^[    <none>          <nil>\n")
  })

  test("maps as Go prints them, and no headers when they are not wanted", async () => {
    expect(await printed("custom-columns=L:.metadata.labels,C:.spec.containers", [pods], { noHeaders: true })).toBe(
      "map[app:web]   [map[image:nginx] map[image:busybox]]\nmap[app:web]   []\n",
    )
  })

  test("headers once for objects of a watch, whose events are objects too", async () => {
    const objects = [pod("a", []), pod("b", [])]
    expect(await printed("custom-columns=NAME:metadata.name", objects)).toBe("NAME\na\nb\n")
    const events = objects.map((object) => watchEventObject("ADDED", object))
    expect(await printed("custom-columns=T:.type,NAME:.object.metadata.name", events)).toBe(
      "T       NAME\nADDED   a\nADDED   b\n",
    )
  })

  test("the columns of a file", async () => {
    const file = "NAME  IMAGE\nmetadata.name  {.spec.containers[0].image}\n"
    expect(await printed("custom-columns-file=columns", [pod("a", ["nginx"])], { file })).toBe(
      "NAME   IMAGE\na      nginx\n",
    )
  })
})

test.each([
  { format: "custom-columns", wants: "custom-columns format specified but no custom columns given" },
  { format: "custom-columns=NAME", wants: "unexpected custom-columns spec: NAME, expected <header>:<json-path-expr>" },
  { format: "custom-columns=NAME:{.a}{.b}", wants: "unexpected path string" },
  { format: "custom-columns-file=none", wants: "error reading template none, open none: no such file or directory\n" },
  { format: "custom-columns-file=columns", wants: "invalid template, missing header line." },
  { format: "custom-columns-file=columns", file: "A\n", wants: "invalid template, missing spec line." },
  {
    format: "custom-columns-file=columns",
    file: "A B\na\n",
    wants: "number of headers (2) and field specifications (1) don't match",
  },
  { format: "custom-columns=A:a", template: "x", wants: "unable to match a printer suitable for the output format" },
])("$format $file fails with: $wants", async ({ format, wants, ...options }) => {
  expect(printed(format, [], options)).rejects.toThrow(wants)
})
