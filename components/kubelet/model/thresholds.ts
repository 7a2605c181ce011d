import { formatQuantity, fromUnits, parseQuantity, unitsOf } from "../../../pkg/apimachinery/scalars/quantity.ts"

/**
 * What eviction watches, in the order in which it is relieved. Source: pkg/kubelet/eviction/api/types.go. Images are on
 * the file system of the node's folder, so imagefs is nodefs here, as in an upstream kubelet without one of their own.
 */
export const SIGNALS = [
  "memory.available",
  "nodefs.available",
  "nodefs.inodesFree",
  "imagefs.available",
  "imagefs.inodesFree",
  "pid.available",
] as const
export type Signal = (typeof SIGNALS)[number]

/** Bytes, inodes or process ids; or a part of the capacity, between 0 and 1. */
export type Amount = { readonly count: number } | { readonly fraction: number }

export type Thresholds = Readonly<Partial<Record<Signal, Amount>>>

/** A threshold below which pods are evicted only once it was crossed for so long. */
export type SoftThresholds = Readonly<Partial<Record<Signal, { readonly amount: Amount; readonly graceMs: number }>>>

/** Source: pkg/kubelet/apis/config/v1beta1/defaults_linux.go for memory; k3s's values for disks, for small machines. */
export const DEFAULT_HARD: Thresholds = {
  "memory.available": { count: 100 * 2 ** 20 },
  "nodefs.available": { fraction: 0.05 },
  "nodefs.inodesFree": { fraction: 0.05 },
  "pid.available": { fraction: 0.1 },
}

export const isSignal = (text: string): text is Signal => SIGNALS.some((signal) => signal === text)

/** Reads `100Mi` or `10%`; undefined for what is none. Source: pkg/kubelet/eviction/helpers.go parseThresholdStatement. */
export function parseAmount(text: string): Amount | undefined {
  const [, percent] = /^(\d{1,3}(?:\.\d{1,3})?)%$/.exec(text) ?? []
  if (percent !== undefined) return Number(percent) <= 100 ? { fraction: Number(percent) / 100 } : undefined
  const parsed = parseQuantity(text)
  return parsed === undefined || parsed.nano < 0n ? undefined : { count: unitsOf(text) }
}

/** Returns how much of a capacity an amount is. As upstream, 0% and 100% are thresholds that nothing crosses. */
export function limitOf(amount: Amount, capacity: number): number {
  if ("count" in amount) return amount.count
  return amount.fraction >= 1 ? 0 : capacity * amount.fraction
}

/** Formats an amount as it may be given: `100Mi`, `5%`. */
export const formatAmount = (amount: Amount): string =>
  "count" in amount ? formatQuantity(fromUnits(amount.count, "BinarySI")) : `${amount.fraction * 100}%`
