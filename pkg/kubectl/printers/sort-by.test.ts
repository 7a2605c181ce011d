import { describe, expect, test } from "bun:test"
import type { Unstructured } from "../rest/json.ts"
import { sortedTable, sortObjects } from "./sort-by.ts"
import type { Table } from "./table.ts"

const configMap = (name: string, value?: unknown): Unstructured => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  ...(value === undefined ? {} : { data: { value } }),
})
const namesOf = (values: readonly unknown[]): readonly string[] =>
  sortObjects(
    values.map((value, i) => configMap(String(i), value)),
    ".data.value",
    (object) => object,
  ).map(({ metadata }) => metadata!.name!)

describe("objects are sorted by a field:", () => {
  test.each([
    { title: "texts by their characters", given: ["b", "a", "B"], wants: ["2", "1", "0"] },
    { title: "quantities by their amount", given: ["1Gi", "500Mi", "100m", "2"], wants: ["2", "3", "1", "0"] },
    { title: "texts that are numbers by their value", given: ["10", "9"], wants: ["1", "0"] },
    { title: "integers and floats by their value", given: [10, 9, 100], wants: ["1", "0", "2"] },
    { title: "null before all others", given: ["a", null, "b"], wants: ["1", "0", "2"] },
    {
      title: "objects without the field first, the last of them before the others",
      given: ["a", undefined, undefined],
      wants: ["2", "1", "0"],
    },
  ])("$title", ({ given, wants }) => {
    expect(namesOf(given)).toEqual(wants)
  })

  test.each([
    { title: "truth values", given: [true, false], wants: "unsortable type: bool" },
    { title: "maps", given: [{}, {}], wants: "unsortable type: map[string]interface {}" },
    { title: "a text and a number", given: ["a", 1], wants: "unsortable interface: interface" },
    {
      title: "a field that none has",
      given: [undefined, undefined],
      wants: `couldn't find any field with path "{.data.value}" in the list of objects`,
    },
  ])("$title cannot be sorted", ({ given, wants }) => {
    expect(() => namesOf(given)).toThrow(wants)
  })
})

test("rows of a table are sorted by a field of their objects", () => {
  const table: Table = {
    columnDefinitions: [{ name: "Name", type: "string" }],
    rows: ["b", "a"].map((name) => ({ cells: [name], object: configMap(name) })),
  }
  expect(sortedTable(table, "metadata.name").rows!.map(({ cells }) => cells[0])).toEqual(["a", "b"])
  expect(() => sortedTable(table, "{.metadata")).toThrow("sorting error: unclosed action")
  expect(() => sortedTable(table, "metadata.name[0]")).toThrow("Failed to get values for [][]reflect.Value(nil)")
})
