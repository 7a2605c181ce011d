import { isPercent } from "./names.ts"

/** A number, or a text that is a percentage of something (`25%`) or a name (of a port). */
export type IntOrString = number | string

const isPercentage = (value: IntOrString): boolean => typeof value === "string" && isPercent(value) === undefined

/** The number before the `%`, or undefined if it is no percentage. */
export const percentOf = (value: IntOrString): number | undefined =>
  typeof value === "string" && isPercentage(value) ? Number(value.slice(0, -1)) : undefined

/**
 * A number as it is, a percentage of `total` rounded `up` or `down`. Throws a TypeError for a text that is no
 * percentage; validation has refused those. Source: apimachinery pkg/util/intstr GetScaledValueFromIntOrPercent.
 */
export function scaledValue(value: IntOrString, total: number, round: "up" | "down"): number {
  if (typeof value === "number") return value
  const percent = percentOf(value)
  if (percent === undefined)
    throw new TypeError(`invalid value for IntOrString: ${JSON.stringify(value)} is not a percentage`)
  return (round === "up" ? Math.ceil : Math.floor)((percent * total) / 100)
}
