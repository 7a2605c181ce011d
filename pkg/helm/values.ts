import { isGoMap } from "../go-fmt/go-number.ts"
import { ownValue, setKey } from "../apimachinery/json/set-key.ts"
import type { Chart } from "./chart.ts"
import { deepCopy, type Dict } from "./functions/convert.ts"

/** Values that hold for a chart and all its dependencies. */
const GLOBAL = "global"

const isTable = (value: unknown): value is Dict => isGoMap(value)

/**
 * Merges a table into another, whose values count. Where `keepsNull` is false, null in the first removes a key of the
 * second. Source of the rules: helm.sh/helm/v3/pkg/chartutil/coalesce.go.
 */
export function mergeTables(into: Dict, from: Dict, keepsNull = false): Dict {
  for (const [key, value] of Object.entries(from)) {
    const own = ownValue(into, key)
    if (!Object.hasOwn(into, key)) setKey(into, key, value)
    else if (own === null && !keepsNull) delete into[key]
    else if (isTable(value) && isTable(own)) mergeTables(own, value, keepsNull)
  }
  return into
}

function addDefaults(chart: Chart, values: Dict, keepsNull: boolean): void {
  for (const [key, value] of Object.entries(deepCopy(chart.values) as Dict)) {
    const own = ownValue(values, key)
    if (!Object.hasOwn(values, key)) setKey(values, key, value)
    else if (own === null && !keepsNull) delete values[key]
    else if (isTable(own) && isTable(value)) {
      const isDependency = chart.dependencies.some(({ metadata }) => metadata.name === key)
      mergeTables(own, value, keepsNull || isDependency)
    }
  }
}

function addGlobals(values: Dict, parent: Dict): void {
  const own = Object.hasOwn(values, GLOBAL) ? values[GLOBAL] : {}
  const above = Object.hasOwn(parent, GLOBAL) ? parent[GLOBAL] : {}
  if (!isTable(own) || !isTable(above)) return
  for (const [key, value] of Object.entries(above)) {
    const found = ownValue(own, key)
    if (!isTable(value)) {
      if (!isTable(found)) setKey(own, key, value)
      continue
    }
    const copy = { ...value }
    if (!Object.hasOwn(own, key)) setKey(own, key, copy)
    else if (isTable(found)) setKey(own, key, mergeTables(copy, found, true))
  }
  values[GLOBAL] = own
}

function coalesce(chart: Chart, values: Dict, keepsNull: boolean): Dict {
  addDefaults(chart, values, keepsNull)
  for (const dependency of chart.dependencies) {
    const { name } = dependency.metadata
    if (!Object.hasOwn(values, name)) setKey(values, name, {})
    const own = ownValue(values, name)
    if (!isTable(own)) throw new Error(`type mismatch on ${name}: the values of a dependency must be a map`)
    addGlobals(own, values)
    setKey(values, name, coalesce(dependency, own, keepsNull))
  }
  return values
}

/** Returns the values of a chart and its dependencies: those given, then those of the charts. @throws Error */
export const coalesceValues = (chart: Chart, given: Readonly<Record<string, unknown>>): Dict =>
  coalesce(chart, deepCopy(given) as Dict, false)

/** Does the same, but keeps null, which a later merge still needs. */
export const mergeValues = (chart: Chart): Dict => coalesce(chart, {}, true)

/** Returns what a dotted path leads to; undefined when it leads nowhere. */
export function valueAt(values: unknown, path: string): unknown {
  let at = values
  for (const key of path.split(".")) {
    if (!isTable(at) || !Object.hasOwn(at, key)) return undefined
    at = at[key]
  }
  return at
}

/** Merges values of which the later ones count, as several `--values` do. */
export function overlay(values: Dict, over: Dict): Dict {
  for (const [key, value] of Object.entries(over)) {
    const own = ownValue(values, key)
    setKey(values, key, isTable(value) && isTable(own) ? overlay({ ...own }, value) : value)
  }
  return values
}
