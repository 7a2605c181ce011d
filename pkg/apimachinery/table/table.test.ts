import { describe, expect, test } from "bun:test"
import { decodeObject } from "../decoding/decode.ts"
import { f } from "../fields.ts"
import { defineResource } from "../resource.ts"
import { tableOf } from "./table.ts"

const Widget = defineResource(
  {
    group: "test",
    version: "v1",
    kind: "Widget",
    plural: "widgets",
    scope: "Namespaced",
    doc: "",
    columns: [
      { name: "Size", type: "integer", value: (widget) => widget.size },
      { name: "Note", type: "string", priority: 1, doc: "A note.", value: (widget) => widget.note },
    ],
  },
  { size: f.int32(2, "").pointer(), note: f.string(3, "") },
)
const created = "2026-01-01T00:00:00Z"
const widget = decodeObject(Widget, { metadata: { name: "a", creationTimestamp: created }, size: 0 }).object
const now = Date.parse(created) + 90_000

describe("tableOf", () => {
  test("has the name, the kind's columns, the age, and the columns for -o wide", () => {
    const table = tableOf(Widget, [widget], { metadata: { resourceVersion: "5" }, now, includeObject: "Metadata" })
    expect(table).toMatchObject({ kind: "Table", apiVersion: "meta.k8s.io/v1", metadata: { resourceVersion: "5" } })
    expect(table.columnDefinitions.map(({ name, type, format, priority }) => [name, type, format, priority])).toEqual([
      ["Name", "string", "name", 0],
      ["Size", "integer", "", 0],
      ["Age", "string", "", 0],
      ["Note", "string", "", 1],
    ])
    expect(table.rows).toEqual([
      {
        cells: ["a", 0, "90s", "<none>"],
        object: { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: widget.metadata },
      },
    ])
  })

  test("allows a kind its own column for the name", () => {
    const Named = defineResource(
      {
        group: "",
        version: "v1",
        kind: "Named",
        plural: "nameds",
        scope: "Cluster",
        doc: "",
        nameColumn: false,
        ageColumn: false,
        columns: [{ name: "Who", type: "string", value: ({ metadata }) => metadata.name }],
      },
      {},
    )
    const table = tableOf(Named, [decodeObject(Named, { metadata: { name: "n" } }).object], {
      metadata: {},
      now,
      includeObject: "None",
    })
    expect([table.columnDefinitions.map(({ name }) => name), table.rows]).toEqual([
      ["Who"],
      [{ cells: ["n"], object: null }],
    ])
  })

  test("contains the whole object, its metadata, or no object, as requested", () => {
    expect(tableOf(Widget, [widget], { metadata: {}, now, includeObject: "Object" }).rows[0]!.object).toBe(widget)
    expect(tableOf(Widget, [widget], { metadata: {}, now, includeObject: "None" }).rows[0]).toEqual({
      cells: ["a", 0, "90s", "<none>"],
      object: null,
    })
  })

  test("has name and creation time if the kind declares no columns", () => {
    // given
    const Bare = defineResource(
      { group: "", version: "v1", kind: "Bare", plural: "bares", scope: "Cluster", doc: "" },
      {},
    )
    const bare = decodeObject(Bare, { metadata: { name: "b", creationTimestamp: created } }).object

    // when
    const table = tableOf(Bare, [bare], { metadata: {}, now, includeObject: "None" })

    // then
    expect(table.columnDefinitions.map(({ name, type }) => [name, type])).toEqual([
      ["Name", "string"],
      ["Created At", "date"],
    ])
    expect(table.rows[0]!.cells).toEqual(["b", created])
  })

  test("has the row conditions that the kind declares", () => {
    // given
    const ended = { type: "Completed", status: "True", reason: "Done", message: "It is done." } as const
    const Task = defineResource(
      {
        group: "",
        version: "v1",
        kind: "Task",
        plural: "tasks",
        scope: "Cluster",
        doc: "",
        columns: [],
        rowConditions: ({ metadata }) => (metadata.name === "old" ? [ended] : []),
      },
      {},
    )
    const tasks = ["old", "new"].map((name) => decodeObject(Task, { metadata: { name } }).object)

    // when
    const { rows } = tableOf(Task, tasks, { metadata: {}, now, includeObject: "None" })

    // then
    expect(rows.map(({ conditions }) => conditions)).toEqual([[ended], undefined])
  })

  test("leaves out the age if the kind says so, and shows an unknown age as <unknown>", () => {
    const Plain = defineResource(
      {
        group: "",
        version: "v1",
        kind: "Plain",
        plural: "plains",
        scope: "Cluster",
        doc: "",
        ageColumn: false,
        columns: [],
      },
      {},
    )
    expect(
      tableOf(Plain, [decodeObject(Plain, { metadata: { name: "p" } }).object], {
        metadata: {},
        now,
        includeObject: "None",
      }).rows,
    ).toEqual([{ cells: ["p"], object: null }])
    const bare = decodeObject(Widget, { metadata: { name: "a" } }).object
    expect(tableOf(Widget, [bare], { metadata: {}, now, includeObject: "None" }).rows[0]!.cells[2]).toBe("<unknown>")
  })
})
