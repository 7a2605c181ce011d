import { expect, test } from "bun:test"
import { exposition } from "./exposition.ts"

test("metrics that are collected on request are sorted by name, with the time of their measurement", () => {
  expect(
    exposition([
      {
        name: "used",
        kind: "gauge",
        help: "How much.",
        series: [
          { labels: { pod: 'a"b', container: "c" }, value: 1.5, at: 1000 },
          { labels: {}, value: 2 },
        ],
      },
      { name: "nothing", kind: "gauge", help: "None.", series: [] },
      { name: "asked_total", kind: "counter", help: "How often.", series: [{ labels: { code: "200" }, value: 3 }] },
    ]),
  ).toBe(
    '# HELP asked_total How often.\n# TYPE asked_total counter\nasked_total{code="200"} 3\n# HELP used How ' +
      'much.\n# TYPE used gauge\nused{container="c",pod="a\\"b"} 1.5 1000\nused 2\n',
  )
})
