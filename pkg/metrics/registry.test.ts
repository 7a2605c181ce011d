import { expect, test } from "bun:test"
import { Registry } from "./registry.ts"

test("a registry writes counters, gauges and histograms in the text format, by name", () => {
  // given one of each
  const registry = new Registry()
  registry.histogram("request_seconds", "How long.", [0.1, 1], "verb").with("GET").observe(0.5)
  registry.counter("a_total", "How many.", "code", "path").with("200", 'a"b').inc(3)
  registry.read("gauge", "load", "How much.", () => 7)

  // when somebody asks
  const text = registry.text()

  // then
  expect(text.split("\n")).toEqual([
    "# HELP a_total How many.",
    "# TYPE a_total counter",
    'a_total{code="200",path="a\\"b"} 3',
    "# HELP load How much.",
    "# TYPE load gauge",
    "load 7",
    "# HELP request_seconds How long.",
    "# TYPE request_seconds histogram",
    'request_seconds_bucket{verb="GET",le="0.1"} 0',
    'request_seconds_bucket{verb="GET",le="1"} 1',
    'request_seconds_bucket{verb="GET",le="+Inf"} 1',
    'request_seconds_sum{verb="GET"} 0.5',
    'request_seconds_count{verb="GET"} 1',
    "",
  ])
})

test("a second request for a name returns the same series", () => {
  const registry = new Registry()
  registry.counter("a_total", "How many.").with().inc()
  expect(registry.counter("a_total", "How many.").with().value).toBe(1)
})

test("metrics that are registered when asked for are told then, once", () => {
  // given
  const registry = new Registry()
  let registered = 0
  registry.whenAsked(() => {
    registered++
    registry.counter("a_total", "How many.")
  })
  expect(registered).toBe(0)
  // when
  const texts = [registry.text(), registry.text()]
  // then
  expect(registered).toBe(1)
  expect(texts).toEqual(["# HELP a_total How many.\n# TYPE a_total counter\n", texts[0]!])
})
