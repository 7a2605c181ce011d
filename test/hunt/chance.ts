import type { Random } from "../../pkg/clock/random.ts"

export const chance = (random: Random, probability: number): boolean => random.next() < probability

/** Returns a random whole number from `least` to `most`. */
export const between = (random: Random, least: number, most: number): number =>
  least + Math.floor(random.next() * (most - least + 1))

export const pick = <T>(random: Random, items: readonly T[]): T => items[Math.floor(random.next() * items.length)]!

export function weighted<T extends { readonly weight: number }>(random: Random, items: readonly T[]): T {
  let left = random.next() * items.reduce((sum, { weight }) => sum + weight, 0)
  return items.find(({ weight }) => (left -= weight) < 0) ?? items.at(-1)!
}
