import { describe, expect, test } from "bun:test"
import { gzipSync } from "node:zlib"
import { MOST_LINE_BYTES, RECORDING_FORMAT } from "./format.ts"
import { readRecording } from "./recording-reader.ts"
import { RecordingWriter } from "./recording-writer.ts"

const BEGIN = "2026-01-01T00:00:00.000000Z"
const END = "2026-01-01T01:00:00.000000Z"
const OF_CLUSTER = { begin: BEGIN, from: "history", server: "v1.36.0", namespaces: [] } as const
const HEAD = { ...OF_CLUSTER, anonymised: false }

const configMap = (name: string, data: Record<string, string> = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default" },
  data,
})

const write = (revision: number, over: object = {}) => ({
  type: "write",
  resource: "configmaps",
  revision,
  time: BEGIN,
  verb: "create",
  user: "alice",
  clients: [],
  subresource: "",
  report: false,
  object: configMap("a"),
  ...over,
})

/** A file of these lines; texts stand for themselves. */
function fileOf(lines: readonly unknown[], head: object = { k3tsRecording: RECORDING_FORMAT, ...HEAD }): Buffer {
  const text = lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join("")
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), gzipSync(text)])
}

const end = (objects: number, writes: number) => ({ type: "end", time: END, objects, writes, resources: [], left: [] })

const failureOf = (file: Uint8Array) =>
  readRecording(file).then(
    () => "read",
    (err: Error) => `${err.name}: ${err.message}`,
  )

describe("a recording", () => {
  test("is read as it was written, in blocks of any number", async () => {
    // given more than a block has
    const parts: Uint8Array[] = []
    const writer = new RecordingWriter(async (part) => void parts.push(part))
    const large = configMap("large", { text: "x".repeat(700_000) })
    await writer.head(OF_CLUSTER)
    for (let i = 0; i < 3; i++) await writer.object({ resource: "configmaps", object: large })
    const { type: _, ...one } = write(7)
    await writer.write(one as Parameters<typeof writer.write>[0])
    await writer.end({ time: END, resources: ["/configmaps"], left: ["secrets: you may not list them"] })
    // when
    const { head, objects, writes, end } = await readRecording(Buffer.concat(parts))
    // then
    expect(head).toEqual({ k3tsRecording: 1, ...HEAD })
    expect(objects.map(({ object }) => object as object)).toEqual([large, large, large])
    expect(writes as readonly object[]).toEqual([write(7)])
    expect(end.left).toEqual(["secrets: you may not list them"])
    // and no part has more than a block and a line
    expect(parts.length).toBeGreaterThanOrEqual(3)
  })

  test("is not written where no reader would take it", async () => {
    // given a line that is too long, and lines that are too many
    const nowhere = () => Promise.resolve()
    const long = configMap("long", { text: "é".repeat(MOST_LINE_BYTES / 2) })
    await expect(new RecordingWriter(nowhere).object({ resource: "configmaps", object: long })).rejects.toThrow(
      "an object has more than 16 MiB",
    )
    const writer = new RecordingWriter(nowhere, 2 ** 20)
    const half = { resource: "configmaps", object: configMap("half", { text: "x".repeat(2 ** 19) }) }
    await writer.object(half)
    await expect(writer.object(half)).rejects.toThrow("more than 1 MiB of JSON: record a shorter span")
  })

  test.each(["example.com/stable", "example.com/next-1", "v1"])("has objects of the version %s", async (apiVersion) => {
    const object = { ...configMap("a"), apiVersion, kind: "Config-Map" }
    const { objects } = await readRecording(fileOf([{ type: "object", resource: "configmaps", object }, end(1, 0)]))
    expect(objects.map((each) => each.object as object)).toEqual([object])
  })

  test("that has a key __proto__ changes no other object", async () => {
    const hostile = `{"type":"object","resource":"configmaps","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"__proto__":{"polluted":1},"data":{"__proto__":"x"}}}`
    const { objects } = await readRecording(fileOf([hostile, end(1, 0)]))
    expect(objects).toHaveLength(1)
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })

  const whole = fileOf([write(1), end(0, 1)])
  const flipped = Buffer.from(whole)
  flipped[whole.length - 12]! ^= 0xff
  const nested = (depth: number) =>
    `{"type":"object","resource":"configmaps","object":${"[".repeat(depth)}${"]".repeat(depth)}}`
  const named = (metadata: object, over: object = {}) => [
    { type: "object", resource: "configmaps", object: { ...configMap("a"), metadata, ...over } },
    end(1, 0),
  ]

  test.each<[string, Uint8Array, RegExp]>([
    ["an empty file", new Uint8Array(), /no recording of k3ts/],
    ["a file of something else", Buffer.from("apiVersion: v1\nkind: Pod\n"), /no recording of k3ts/],
    [
      "a file of a later version",
      fileOf([], { ...HEAD, k3tsRecording: 2 }),
      /has the format 2, and this k3ts reads format 1: use a newer/,
    ],
    ["a file that was cut off", whole.subarray(0, whole.length - 20), /damaged \(unexpected end of file\)/i],
    ["a file that was cut off between blocks", fileOf([write(1)]), /its end is missing: it was cut off/],
    ["a file with a wrong bit", flipped, /is damaged|no record/],
    ["a file that lacks a line", fileOf([end(0, 1)]), /has 0 objects and 0 writes, but should have 0 and 1/],
    ["a file with lines behind the end", fileOf([end(0, 0), write(1)]), /behind the end/],
    ["a count that no file has", fileOf([{ ...end(0, 0), objects: 1e300 }]), /a field of the end/],
    ["revisions that do not rise", fileOf([write(2), write(2), end(0, 2)]), /revision 2 is behind 2/],
    [
      "a write before the beginning",
      fileOf([write(1, { time: "2025-01-01T00:00:00Z" }), end(0, 1)]),
      /of a time before/,
    ],
    ["a span of years", fileOf([{ ...end(0, 0), time: "2036-01-01T00:00:00Z" }]), /longer than 31 days/],
    ["deep nesting", fileOf([nested(100_000), end(1, 0)]), /nested deeper than 200/],
    ["a line without end", fileOf(["x".repeat(MOST_LINE_BYTES + 100_000)]), /line 2 is longer than/],
    ["a name that is a path", fileOf(named({ name: "../../secrets/a" })), /names of an object/],
    ["a namespace that is a path", fileOf(named({ name: "a", namespace: "a/b" })), /names of an object/],
    ["a group that is a path", fileOf(named({ name: "a" }, { apiVersion: "../v1/v1" })), /names of an object/],
    ["a resource that is a path", fileOf([{ ...write(1), resource: "../pods" }, end(0, 1)]), /a plural name/],
    ["an object without names", fileOf(named({})), /names of an object/],
    ["a name that is a folder", fileOf(named({ name: ".." })), /names of an object/],
    ["a kind that is a path", fileOf(named({ name: "a" }, { kind: "../Pod" })), /names of an object/],
    [
      "a write behind the end of its time",
      fileOf([write(1, { time: "2026-01-02T00:00:00Z" }), end(0, 1)]),
      /behind the end/,
    ],
    [
      "an object behind writes",
      fileOf([write(1), { type: "object", resource: "configmaps", object: configMap("b") }, end(1, 1)]),
      /an object behind writes/,
    ],
    ["a last line without an end", Buffer.concat([fileOf([end(0, 0)]), gzipSync("{}")]), /last line has no end/],
    [
      "a head without a time",
      fileOf([end(0, 0)], { k3tsRecording: RECORDING_FORMAT, ...HEAD, begin: "yesterday" }),
      /first line is damaged/,
    ],
    ["a verb of its own", fileOf([write(1, { verb: "exec" }), end(0, 1)]), /verb must be/],
  ])("that is %s is refused", async (_, file, wants) => {
    expect(await failureOf(file)).toMatch(wants)
  })

  test("that unpacks to more than the limit is refused before it is in memory", async () => {
    // given a file of some kilobytes that is 100 MiB of records
    const line = `${JSON.stringify({ type: "object", resource: "configmaps", object: configMap("a", { a: "a".repeat(2 ** 20) }) })}\n`
    const member = gzipSync(line)
    const file = Buffer.concat([fileOf([]), ...Array.from({ length: 100 }, () => member)])
    expect(file.length).toBeLessThan(200_000)
    await expect(readRecording(file, 2 ** 22)).rejects.toThrow("more than 4 MiB of JSON")
  })
})
