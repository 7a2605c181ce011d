/** A priority level that gets a part of the seats. */
import { largest, smallest } from "../../../../pkg/lists/extremes.ts"

export interface Claim {
  /** The seats that it should get in proportion to the others; at least `lowerBound`. */
  readonly target: number
  readonly lowerBound: number
  readonly upperBound: number
}

export interface Allocation {
  /** The seats of each claim, in the order of the claims. */
  readonly seats: readonly number[]
  /** The fraction of its target that each claim gets when none of its bounds applies. */
  readonly fairProportion: number
}

const LEAST_TARGET = 0.001
const EPSILON = 0.0000001

/**
 * Divides `sum` among claims: each gets the same fraction of its target, within its bounds. Returns undefined when the
 * bounds make that impossible. Source: computeConcurrencyAllocation in apiserver pkg/util/flowcontrol/conc_alloc.go.
 */
export function allocate(sum: number, claims: readonly Claim[]): Allocation | undefined {
  if (sum < 0 || claims.some(({ target, lowerBound, upperBound }) => target < lowerBound || upperBound < lowerBound))
    return undefined
  const relative = claims.map(({ target, lowerBound, upperBound }) => {
    const least = Math.max(target, LEAST_TARGET)
    return { target: least, lower: lowerBound / least, upper: upperBound / least }
  })
  const total = (values: readonly number[]) => values.reduce((a, b) => a + b, 0)
  const [lowest, highest] = [
    total(claims.map(({ lowerBound }) => lowerBound)),
    total(claims.map(({ upperBound }) => upperBound)),
  ]
  if (lowest - sum > EPSILON || sum - highest > EPSILON) return undefined
  if (sum === 0) return { seats: claims.map(() => 0), fairProportion: 0 }
  if (lowest - sum > -EPSILON)
    return {
      seats: claims.map(({ lowerBound }) => lowerBound),
      fairProportion: smallest(relative.map(({ lower }) => lower)),
    }
  if (sum - highest > -EPSILON)
    return {
      seats: claims.map(({ upperBound }) => upperBound),
      fairProportion: largest(relative.map(({ upper }) => upper)),
    }
  const fairProportion = proportionOf(sum, lowest, relative)
  const seats = claims.map(({ lowerBound, upperBound }, i) =>
    Math.max(lowerBound, Math.min(upperBound, fairProportion * relative[i]!.target)),
  )
  return { seats, fairProportion }
}

interface RelativeClaim {
  readonly target: number
  readonly lower: number
  readonly upper: number
}

/**
 * Returns the fraction at which the claims together take the whole sum. What they take is a piecewise linear function
 * of the fraction: a claim starts to grow at its lower bound and stops at its upper bound.
 */
function proportionOf(sum: number, lowest: number, claims: readonly RelativeClaim[]): number {
  const bends = claims
    .flatMap(({ target, lower, upper }) => [
      { at: lower, slope: target },
      { at: upper, slope: -target },
    ])
    .sort((a, b) => a.at - b.at)
  let [proportion, taken, slope] = [bends[0]?.at ?? 0, lowest, 0]
  for (const bend of bends) {
    const more = (bend.at - proportion) * slope
    if (slope > 0 && taken + more >= sum) break
    taken += more
    proportion = bend.at
    slope += bend.slope
  }
  return slope > 0 ? proportion + (sum - taken) / slope : proportion
}
