import { formatQuantity, fromUnits, type Quantity } from "../../apimachinery/scalars/quantity.ts"
import type { ResourceQuota } from "../../api/core/v1/resourcequota/resourcequota.ts"
import type { Describer } from "./describing.ts"
import { description, type PrefixWriter } from "./prefix-writer.ts"
import { quantityOf, quantityText } from "./resources.ts"
import { ceilDivide } from "./rounding.ts"

export const RESOURCE_QUOTAS = { group: "", version: "v1", resource: "resourcequotas" }

/** What scopes mean, in upstream's words. */
const SCOPES: Readonly<Record<string, string>> = {
  Terminating:
    "Matches all pods that have an active deadline. These pods have a limited lifespan on a node before being actively terminated by the system.",
  NotTerminating:
    "Matches all pods that do not have an active deadline. These pods usually include long running pods whose container command is not expected to terminate.",
  BestEffort:
    "Matches all pods that do not have resource requirements set. These pods have a best effort quality of service.",
  NotBestEffort:
    "Matches all pods that have at least one resource requirement set. These pods have a burstable or guaranteed quality of service.",
}

export const describeResourceQuota: Describer = async ({ client }, namespace, name) => {
  const { metadata, spec, status } = await client.get<ResourceQuota>(RESOURCE_QUOTAS, namespace, name)
  return description((w) => {
    w.row(0, "Name:", metadata.name ?? "")
    w.row(0, "Namespace:", metadata.namespace ?? "")
    describeScopes(w, 0, " * ", spec)
    w.row(0, "Resource", "Used", "Hard")
    w.row(0, "--------", "----", "----")
    const { hard = {}, used = {} } = status ?? {}
    for (const resource of Object.keys(hard).sort())
      w.row(
        0,
        resource,
        inFormatOf(quantityOf(used[resource]), quantityOf(hard[resource])),
        quantityText(hard[resource]),
      )
  })
}

/** Writes the quotas of a namespace. */
export function describeResourceQuotas(w: PrefixWriter, quotas: readonly ResourceQuota[]): void {
  if (quotas.length === 0) return w.row(0, "No resource quota.")
  w.row(0, "Resource Quotas")
  const sorted = quotas.toSorted((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1))
  for (const { metadata, spec, status } of sorted) {
    w.row(1, "Name:", metadata.name ?? "")
    describeScopes(w, 1, "* ", spec)
    w.row(1, "Resource", "Used", "Hard")
    w.row(1, "--------", "---", "---")
    const { hard = {}, used = {} } = status ?? {}
    for (const resource of Object.keys(hard).sort())
      w.row(1, resource, quantityText(used[resource]), quantityText(hard[resource]))
  }
}

function describeScopes(w: PrefixWriter, level: number, bullet: string, spec: ResourceQuota["spec"] | undefined): void {
  const scopes = (spec?.scopes ?? []).toSorted()
  if (scopes.length === 0) return
  w.row(level, "Scopes:", scopes.join(", "))
  for (const scope of scopes) if (SCOPES[scope] !== undefined) w.row(level, `${bullet}${SCOPES[scope]}`)
}

/** Returns what is used in the family of suffixes of the hard limit. */
const inFormatOf = (used: Quantity, { format }: Quantity): string =>
  formatQuantity(used.format === format ? used : fromUnits(ceilDivide(used.nano, 1_000_000_000n), format))
