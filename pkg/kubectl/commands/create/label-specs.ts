/** Reads `key=value` pairs between commas. Source: kubectl pkg/generate/generate.go (ParseLabels). */
export function parseLabelSpecs(text: string): Record<string, string> {
  const pairs = text.split(",").map((spec): readonly [string, string] => {
    const [key = "", value, more] = spec.split("=")
    if (value === undefined || more !== undefined) throw new Error(`unexpected label spec: ${spec}`)
    if (key === "") throw new Error("unexpected empty label key")
    return [key, value]
  })
  return Object.fromEntries(pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
}

/** @throws Error in the words of strconv.Atoi */
export function goAtoi(text: string): number {
  if (!/^[+-]?\d+$/.test(text)) throw new Error(`strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`)
  const number = BigInt(text.replace(/^\+/, ""))
  if (BigInt.asIntN(64, number) !== number)
    throw new Error(`strconv.Atoi: parsing ${JSON.stringify(text)}: value out of range`)
  // Ports are int32 in Go, which cuts off what is above.
  return Number(BigInt.asIntN(32, number))
}
