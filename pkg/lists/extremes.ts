/** Returns the largest number, -Infinity if there is none: `Math.max` of a list of any length (see pushAll). */
export function largest(numbers: Iterable<number>): number {
  let found = -Infinity
  for (const number of numbers) found = Math.max(found, number)
  return found
}

/** Returns the smallest number, Infinity if there is none. */
export function smallest(numbers: Iterable<number>): number {
  let found = Infinity
  for (const number of numbers) found = Math.min(found, number)
  return found
}
