/** Returns the quotient of two numbers, the second above zero, rounded up. */
export function ceilDivide(value: bigint, by: bigint): bigint {
  const quotient = value / by
  return value > 0n && value % by !== 0n ? quotient + 1n : quotient
}
