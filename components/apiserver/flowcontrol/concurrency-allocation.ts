/** One priority level that is to get a part of the seats. */
export interface Claim {
  /** What it should get in proportion to the others; at least `lowerBound`. */
  readonly target: number
  readonly lowerBound: number
  readonly upperBound: number
}

export interface Allocation {
  /** What each claim gets, in their order. */
  readonly seats: readonly number[]
  /** The proportion of its target that each gets that meets no bound. */
  readonly fairProportion: number
}

const LEAST_TARGET = 0.001
const EPSILON = 0.0000001

/**
 * Divides `sum` among claims: all get the same proportion of their targets, as far as their bounds allow. Undefined
 * where the bounds leave no such division. Source: computeConcurrencyAllocation in apiserver
 * pkg/util/flowcontrol/conc_alloc.go.
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
      fairProportion: Math.min(...relative.map(({ lower }) => lower)),
    }
  if (sum - highest > -EPSILON)
    return {
      seats: claims.map(({ upperBound }) => upperBound),
      fairProportion: Math.max(...relative.map(({ upper }) => upper)),
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
 * The proportion with which the claims take up the whole sum. What they take grows with it in pieces of straight lines:
 * a claim begins to take more at its lower bound and stops at its upper one.
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
