import type { LimitRange } from "../../api/core/v1/limitrange/limitrange.ts"
import type { Describer } from "./describing.ts"
import { description, type PrefixWriter } from "./prefix-writer.ts"
import { quantityText } from "./resources.ts"

export const LIMIT_RANGES = { group: "", version: "v1", resource: "limitranges" }

export const describeLimitRange: Describer = async ({ client }, namespace, name) => {
  const { metadata, spec } = await client.get<LimitRange>(LIMIT_RANGES, namespace, name)
  return description((w) => {
    w.row(0, "Name:", metadata.name ?? "")
    w.row(0, "Namespace:", metadata.namespace ?? "")
    w.row(0, "Type", "Resource", "Min", "Max", "Default Request", "Default Limit", "Max Limit/Request Ratio")
    w.row(0, "----", "--------", "---", "---", "---------------", "-------------", "-----------------------")
    describeLimits(w, "", spec)
  })
}

/** Writes all limits of a namespace as one table. */
export function describeLimitRanges(w: PrefixWriter, ranges: readonly LimitRange[]): void {
  if (ranges.length === 0) return w.row(0, "No LimitRange resource.")
  const columns = ["Min", "Max", "Default Request", "Default Limit", "Max Limit/Request Ratio"]
  w.write(0, `Resource Limits\n Type\tResource\t${columns.join("\t")}\n`)
  w.row(0, " ----", "--------", "---", "---", "---------------", "-------------", "-----------------------")
  for (const { spec } of ranges) describeLimits(w, " ", spec)
}

/** Differs from upstream: resources stand in the order of their names, not in a random one. */
function describeLimits(w: PrefixWriter, prefix: string, { limits }: LimitRange["spec"]): void {
  for (const {
    type,
    min = {},
    max = {},
    defaultRequest = {},
    default: limit = {},
    maxLimitRequestRatio = {},
  } of limits ?? []) {
    const columns = [min, max, defaultRequest, limit, maxLimitRequestRatio]
    const names = [...new Set(columns.flatMap((quantities) => Object.keys(quantities)))].sort()
    for (const name of names)
      w.row(
        0,
        `${prefix}${type}`,
        name,
        ...columns.map(({ [name]: quantity }) => (quantity === undefined ? "-" : quantityText(quantity))),
      )
  }
}
