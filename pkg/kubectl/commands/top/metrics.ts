import { addQuantities, parseQuantity, type Quantity } from "../../../apimachinery/scalars/quantity.ts"
import { fromLabelSelector, parseLabelSelector } from "../../../apimachinery/selectors/labels.ts"
import { ceilDivide } from "../../describe/rounding.ts"
import type { RestClient } from "../../rest/rest-client.ts"
import type { ObjectMeta } from "../../rest/json.ts"

/** Quantities by the names of resources. */
export type Usage = Readonly<Record<string, string>>

export interface NodeMetrics {
  readonly metadata: ObjectMeta
  readonly usage: Usage
}

export interface ContainerMetrics {
  readonly name: string
  readonly usage: Usage
}

export interface PodMetrics {
  readonly metadata: ObjectMeta
  readonly containers: readonly ContainerMetrics[]
}

export const METRICS = "/apis/metrics.k8s.io/v1beta1"

/** @throws Error where the server has no metrics */
export async function requireMetrics(client: RestClient): Promise<void> {
  await client.object({ method: "GET", path: "/api" })
  const { groups } = await client.object({ method: "GET", path: "/apis" })
  const known = groups as readonly {
    readonly name: string
    readonly versions: readonly { readonly version: string }[]
  }[]
  const metrics = known.find(({ name }) => name === "metrics.k8s.io")
  if (metrics?.versions.some(({ version }) => version === "v1beta1") !== true)
    throw new Error("Metrics API not available")
}

/** Returns a label selector in Go's form; empty for none. @throws Error for one that cannot be read */
export const canonicalSelector = (selector: string): string =>
  selector === "" ? fromLabelSelector({}).toString() : parseLabelSelector(selector).toString()

export const ZERO: Quantity = { nano: 0n, format: "DecimalSI" }
export const usageOf = (usage: Usage | undefined, resource: string): Quantity =>
  parseQuantity(usage?.[resource] ?? "0") ?? ZERO

/** Returns what the containers of a pod use together. */
export const sumOf = (containers: readonly ContainerMetrics[], resource: string): Quantity =>
  containers.reduce((sum, { usage }) => addQuantities(sum, usageOf(usage, resource)), ZERO)

/** Thousandths, rounded up. */
export const milli = ({ nano }: Quantity): bigint => ceilDivide(nano, 1_000_000n)
const units = ({ nano }: Quantity): bigint => ceilDivide(nano, 1_000_000_000n)

/** Returns CPU as thousandths of a core, and bytes as mebibytes. */
export const usageText = (resource: string, amount: Quantity): string =>
  resource === "cpu" ? `${milli(amount)}m` : `${units(amount) / 1_048_576n}Mi`

/** Orders by usage, the largest first. Names come in their order where no resource is asked for. */
export function compareUsage(sortBy: string, a: Quantity, b: Quantity): number {
  const [left, right] = sortBy === "cpu" ? [milli(a), milli(b)] : [units(a), units(b)]
  return left > right ? -1 : left < right ? 1 : 0
}

export const compareText = (a = "", b = ""): number => (a < b ? -1 : a > b ? 1 : 0)

/** The resources that are measured, and shown. */
export const measured = (showSwap: boolean): readonly string[] =>
  showSwap ? ["cpu", "memory", "swap"] : ["cpu", "memory"]

export function checkSortBy(sortBy: string): void {
  if (!["", "cpu", "memory"].includes(sortBy)) throw new Error("--sort-by accepts only cpu or memory")
}

/** Returns a line of a table, in which a tab ends each cell. */
export const line = (cells: readonly string[]): string => `${cells.map((cell) => `${cell}\t`).join("")}\n`
