/** Returns a number as a whole one times a power of ten. */
function scaled(value: number): { readonly digits: bigint; readonly exponent: number } {
  const [mantissa = "0", exponent = "0"] = String(value).split("e")
  const [whole = "0", fraction = ""] = mantissa.split(".")
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length }
}

/** Whether a number is a multiple of another, exactly in the decimals as they are written: 0.3 is one of 0.1. */
export function isMultiple(value: number, of: number): boolean {
  if (!Number.isFinite(value)) return false
  const [a, b] = [scaled(value), scaled(of)]
  if (b.digits === 0n) return false
  const lowest = Math.min(a.exponent, b.exponent)
  const whole = ({ digits, exponent }: typeof a) => digits * 10n ** BigInt(exponent - lowest)
  return whole(a) % whole(b) === 0n
}
