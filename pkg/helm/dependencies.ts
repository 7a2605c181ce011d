import { ownValue } from "../apimachinery/json/set-key.ts"
import { isGoMap } from "../go-fmt/go-number.ts"
import { sprint } from "../go-fmt/sprintf.ts"
import type { Chart, ChartDependency } from "./chart.ts"
import { deepCopy, type Dict } from "./functions/convert.ts"
import { isInRange } from "./semver.ts"
import { coalesceValues, mergeTables, mergeValues, valueAt } from "./values.ts"

/**
 * Returns the chart with the dependencies that the values ask for, under the names that they have here, and with the
 * values that it imports from them. Source of the rules: helm.sh/helm/v3/pkg/chartutil/dependencies.go. @throws Error
 */
export const processDependencies = (chart: Chart, values: Readonly<Record<string, unknown>>): Chart =>
  withImports(enabled(chart, values, ""))

function isCompatible(range: string | undefined, version: string): boolean {
  try {
    return isInRange(range ?? "", version)
  } catch {
    return false
  }
}

const fits = ({ name, version }: ChartDependency, { metadata }: Chart): boolean =>
  metadata.name === name && isCompatible(version, metadata.version)

function enabled(chart: Chart, values: Readonly<Record<string, unknown>>, path: string): Chart {
  const declared = chart.metadata.dependencies
  if (declared === undefined || declared === null) return chart
  const undeclared = chart.dependencies.filter((one) => !declared.some((wanted) => fits(wanted, one)))
  const found = declared.flatMap((wanted) => {
    const one = chart.dependencies.find((each) => fits(wanted, each))
    if (one === undefined) return []
    const name = wanted.alias === undefined || wanted.alias === "" ? one.metadata.name : wanted.alias
    return [{ ...one, metadata: { ...one.metadata, name } }]
  })
  const all = { ...chart, dependencies: [...undeclared, ...found] }
  const known = coalesceValues(all, values)
  const named = declared.map((wanted) => ({ ...wanted, name: wanted.alias || wanted.name }))
  const off = new Set(named.filter((wanted) => !isWanted(wanted, known, path)).map(({ name }) => name))
  return {
    ...all,
    metadata: { ...chart.metadata, dependencies: named.filter(({ name }) => !off.has(name)) },
    dependencies: all.dependencies
      .filter(({ metadata }) => !off.has(metadata.name))
      .map((one) => enabled(one, known, `${path}${one.metadata.name}.`)),
  }
}

/** The first condition that is there decides, and otherwise the tags. */
function isWanted({ condition = "", tags = [] }: ChartDependency, values: Dict, path: string): boolean {
  for (const each of condition.trim().split(",")) {
    const value = each === "" ? undefined : valueAt(values, path + each)
    if (typeof value === "boolean") return value
  }
  const set = valueAt(values, "tags")
  if (!isGoMap(set)) return true
  const found = (tags ?? []).map((tag) => ownValue(set, tag)).filter((value) => typeof value === "boolean")
  return found.length === 0 || found.includes(true)
}

function withImports(chart: Chart): Chart {
  const whole = { ...chart, dependencies: chart.dependencies.map(withImports) }
  const declared = whole.metadata.dependencies
  if (declared === undefined || declared === null) return whole
  const values = mergeValues(whole)
  const imported: Dict = {}
  for (const { name, "import-values": imports = [] } of declared)
    for (const each of imports ?? []) {
      const isPair = isGoMap(each)
      const child = isPair ? sprint([each["child"]]) : `exports.${sprint([each])}`
      const parent = isPair ? sprint([each["parent"]]) : "."
      const table = valueAt(values, `${name}.${child}`)
      if (!isGoMap(table)) continue
      const at =
        parent === "."
          ? deepCopy(table)
          : parent.split(".").reduceRight<unknown>((inner, key) => ({ [key]: inner }), deepCopy(table))
      mergeTables(imported, at as Dict, true)
    }
  return { ...whole, values: mergeTables(deepCopy(values) as Dict, imported, true) }
}
