import { expect, test } from "bun:test"
import { canonicalSet } from "./canonical-set.ts"

const set = (...elements: string[]) => Object.fromEntries(elements.map((element) => [element, {}]))

/** Every expectation is the order in which upstream writes the same elements. */
test.each<{ what: string; elements: string[]; wanted: string[] }>([
  { what: "fields by name", elements: ["f:b", "f:10", "f:a", "f:9"], wanted: ["f:10", "f:9", "f:a", "f:b"] },
  {
    what: "the set itself, then fields, keys, values and indices",
    elements: ["i:0", "v:1", 'k:{"a":1}', "f:a", "."],
    wanted: [".", "f:a", 'k:{"a":1}', "v:1", "i:0"],
  },
  {
    what: "numbers by value",
    elements: ['k:{"port":8080}', 'k:{"port":443}', 'k:{"port":80}'],
    wanted: ['k:{"port":80}', 'k:{"port":443}', 'k:{"port":8080}'],
  },
  {
    what: "keys of one text by that text, also if one is a prefix of another",
    elements: ['k:{"type":"AB"}', 'k:{"type":"A!"}', 'k:{"type":"A"}', 'k:{"type":"A,B"}', 'k:{"type":"A B"}'],
    wanted: ['k:{"type":"A"}', 'k:{"type":"A B"}', 'k:{"type":"A!"}', 'k:{"type":"A,B"}', 'k:{"type":"AB"}'],
  },
  {
    what: "keys of several fields by the first field that differs",
    elements: ['k:{"port":80,"protocol":"UDP"}', 'k:{"port":80,"protocol":"TCP"}', 'k:{"port":9,"protocol":"Z"}'],
    wanted: ['k:{"port":9,"protocol":"Z"}', 'k:{"port":80,"protocol":"TCP"}', 'k:{"port":80,"protocol":"UDP"}'],
  },
  {
    what: "names in a key",
    elements: ['k:{"protocol":"TCP","containerPort":80}'],
    wanted: ['k:{"containerPort":80,"protocol":"TCP"}'],
  },
  {
    what: "values of different types",
    elements: ["v:null", "v:{}", "v:[]", "v:true", 'v:"a"', "v:2", "v:1.5"],
    wanted: ["v:1.5", "v:2", 'v:"a"', "v:true", "v:[]", "v:{}", "v:null"],
  },
  { what: "indices as numbers", elements: ["i:10", "i:9"], wanted: ["i:9", "i:10"] },
])("a field set is sorted: $what", ({ elements, wanted }) => {
  expect(Object.keys(canonicalSet({ "f:x": set(...elements) })["f:x"]!)).toEqual(wanted)
})

test("a sorted field set is returned unchanged", () => {
  const ordered = { "f:a": set(".", "f:b"), "f:c": {} }
  expect(canonicalSet(ordered)).toBe(ordered)
  const other = { "f:c": {}, "f:a": set(".", "f:b") }
  expect(canonicalSet(other)).toBe(canonicalSet(other))
})
