import { quantity } from "../../../../apimachinery/scalars/quantity.ts"

/**
 * Returns warnings about amounts of these resources that are not a whole number of bytes. Source: GetWarningsForPod in
 * pkg/api/pod/warnings.go.
 */
export function fractionWarnings(
  path: string,
  amounts: Readonly<Record<string, string>> | undefined,
  resources: readonly string[],
): readonly string[] {
  if (amounts === undefined) return NO_WARNINGS
  let warnings: string[] | undefined
  for (const name of resources) {
    const amount = amounts[name]
    // Upstream checks only down to thousandths.
    if (amount === undefined || WHOLE.test(amount) || (quantity(amount).nano / MILLI) % 1000n === 0n) continue
    const warning = `${path}[${name}]: fractional byte value "${amount}" is invalid, must be an integer`
    warnings = [...(warnings ?? []), warning]
  }
  return warnings ?? NO_WARNINGS
}
const NO_WARNINGS: readonly string[] = []
const WHOLE = /^\d+([KMGTPE]i?|k)?$/
const MILLI = 1_000_000n
