import { describe, expect, test } from "bun:test"
import { parseJsonPath } from "./jsonpath.ts"

const value = {
  metadata: { labels: { a: "1", "example.com/b": "2" }, creationTimestamp: "t" },
  spec: {
    replicas: 0,
    ports: [
      { name: "x", port: 80 },
      { name: "y", port: 443 },
    ],
    none: null,
  },
  status: {
    conditions: [
      { type: "Ready", status: "True" },
      { type: "Other", status: "False" },
    ],
  },
}

describe("parseJsonPath", () => {
  test.each<[string, unknown[]]>([
    [".spec.replicas", [0]],
    ["{.spec.replicas}", [0]],
    ["$.spec.replicas", [0]],
    [".metadata.labels['a']", ["1"]],
    ['.metadata.labels["example.com/b"]', ["2"]],
    [".metadata.labels.example\\.com/b", ["2"]],
    [".spec.ports[1].name", ["y"]],
    [".spec.ports[-1].port", [443]],
    [".spec.ports[*].port", [80, 443]],
    [".metadata.labels.*", ["1", "2"]],
    ['.status.conditions[?(@.type=="Ready")].status', ["True"]],
    [".status.conditions[?(@.type != 'Ready')].status", ["False"]],
    [".spec.ports[?(@.port > 100)].name", ["y"]],
    [".spec.ports[?(@.name)].port", [80, 443]],
    [".spec.none", []],
    [".spec.missing.deep", []],
    [".", [value]],
  ])("%s", (path, wanted) => {
    expect(parseJsonPath(path)(value)).toEqual(wanted)
  })

  test.each([".spec[", "spec", ".a[?(x)]", ".a[?(@.b == c)]"])("refuses %s", (path) => {
    expect(() => parseJsonPath(path)).toThrow("Cannot read JSONPath")
  })
})
