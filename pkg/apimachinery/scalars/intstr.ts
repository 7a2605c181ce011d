import { isPercent } from "../validation/names.ts"

/** A number, or text that is a percentage (`25%`) or the name of a port. */
export type IntOrString = number | string

const isPercentage = (value: IntOrString): boolean => typeof value === "string" && isPercent(value) === undefined

/** Returns the number before the `%`; undefined when it is not a percentage. */
export const percentOf = (value: IntOrString): number | undefined =>
  typeof value === "string" && isPercentage(value) ? Number(value.slice(0, -1)) : undefined

/**
 * Returns a number as it is, and a percentage of `total` rounded `up` or `down`. Throws TypeError for other text, which
 * validation has refused before. Source: apimachinery pkg/util/intstr GetScaledValueFromIntOrPercent.
 */
export function scaledValue(value: IntOrString, total: number, round: "up" | "down"): number {
  if (typeof value === "number") return value
  const percent = percentOf(value)
  if (percent === undefined)
    throw new TypeError(`invalid value for IntOrString: ${JSON.stringify(value)} is not a percentage`)
  return (round === "up" ? Math.ceil : Math.floor)((percent * total) / 100)
}
