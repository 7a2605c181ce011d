import { beforeAll, describe, expect, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { exposedMetrics, type ExposedMetrics } from "./exposed.ts"
import { ASKED, LACKING } from "./mixin.ts"

const DASHBOARDS = join(import.meta.dirname, "../../manifests/observability")

let exposed: ExposedMetrics
beforeAll(async () => void (exposed = await exposedMetrics()))

/** Metrics without series in the cluster of the test, where nothing has failed; so their labels are not checked. */
const WITHOUT_SERIES = [
  "aggregator_unavailable_apiservice_total",
  "kubelet_evictions",
  "kubelet_runtime_operations_errors_total",
]

describe("metrics for kubernetes-mixin", () => {
  test("every metric that it queries exists", () => {
    expect(ASKED.filter(({ name }) => !exposed.has(name))).toEqual([])
  })

  test("every metric has the labels that it queries", () => {
    const lacking = ASKED.filter(({ name }) => !WITHOUT_SERIES.includes(name)).flatMap(({ name, labels = [] }) =>
      labels.filter((label) => exposed.get(name)?.has(label) !== true).map((label) => `${name}{${label}}`),
    )
    expect(lacking).toEqual([])
  })

  test("every metric that is listed as missing is missing", () => {
    expect(Object.keys(LACKING).filter((name) => exposed.has(name))).toEqual([])
  })
})

interface Dashboard {
  readonly title: string
  readonly uid: string
  readonly panels: readonly {
    readonly title: string
    readonly targets?: readonly { readonly expr: string }[]
  }[]
  readonly templating: { readonly list: readonly { readonly name: string; readonly query?: string }[] }
}

const dashboards = readdirSync(DASHBOARDS)
  .filter((name) => name.endsWith(".json"))
  .map((name) => ({ name, dashboard: JSON.parse(readFileSync(join(DASHBOARDS, name), "utf8")) as Dashboard }))

/** Returns the metrics in PromQL: names with an underscore before a brace or bracket, unlike functions and labels. */
const metricsOf = (expr: string): readonly string[] =>
  [...expr.matchAll(/\b([a-z]\w*_\w+)(?=[{[),\s]|$)/g)]
    .map(([, name = ""]) => name)
    .filter((name) => !FUNCTIONS.has(name) && !isLabel(expr, name))
const FUNCTIONS: ReadonlySet<string> = new Set(["histogram_quantile", "label_values", "label_replace"])

/** Whether a name stands only in a list of labels: `by (operation_type, le)`. */
const isLabel = (expr: string, name: string): boolean =>
  [...expr.matchAll(/\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/g)].some(([, list = ""]) =>
    list.split(",").some((label) => label.trim() === name),
  )

describe("dashboards", () => {
  test("exist, and each has a unique id", () => {
    expect(dashboards.length).toBeGreaterThanOrEqual(4)
    expect(new Set(dashboards.map(({ dashboard }) => dashboard.uid)).size).toBe(dashboards.length)
  })

  for (const { name, dashboard } of dashboards)
    test(`${name} queries only metrics that exist`, () => {
      const asked = [
        ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
        ...dashboard.templating.list.flatMap(({ query = "" }) => (query.includes("label_values") ? [query] : [])),
      ].map((expr) => ({ expr, metrics: metricsOf(expr) }))
      // An expression in which no metric is found would pass unseen.
      expect(asked.filter(({ metrics }) => metrics.length === 0)).toEqual([])
      const known = (metric: string) => exposed.has(metric) || exposed.has(metric.replace(/_(bucket|sum|count)$/, ""))
      expect(asked.flatMap(({ metrics }) => metrics.filter((metric) => !known(metric)))).toEqual([])
    })
})
