/**
 * Measures how the time of a function grows with the size of its input. It is CPU time, so that other load does not
 * count.
 */

export interface Growth {
  /** Milliseconds for the smaller size and the larger one. */
  readonly small: number
  readonly large: number
  /**
   * How much more the larger size took, divided by how much larger it is: about 1 when the time grows with the size,
   * about 4 or more when with its square.
   */
  readonly factor: number
}

/** Sizes are this far apart. */
const TIMES = 8

/** Below this a difference is noise: milliseconds for the larger size. */
const NOISE = 20

/** Runs `run` for inputs of `size` and of eight times that size. Very short times count as linear. */
export function growth<T>(make: (size: number) => T, run: (input: T) => unknown, size: number): Growth {
  let found = measured(make, run, size)
  // A garbage collection or a compilation may disturb some measurements, but not all of them.
  for (let more = 0; more < MORE_RUNS && found.factor > SUSPICIOUS; more++) {
    const next = measured(make, run, size)
    if (next.factor < found.factor) found = next
  }
  return found
}

function measured<T>(make: (size: number) => T, run: (input: T) => unknown, size: number): Growth {
  const large = fastest(make(size * TIMES), run)
  if (large < NOISE) return { small: large, large, factor: 1 }
  const small = fastest(make(size), run)
  return { small, large, factor: large / Math.max(small, NOISE / TIMES / TIMES) / TIMES }
}

/** Returns the milliseconds of the fastest of some runs. A run may end by throwing. */
function fastest<T>(input: T, run: (input: T) => unknown): number {
  let best = Infinity
  for (let i = 0; i < RUNS && best > NOISE / TIMES; i++) {
    const began = process.cpuUsage()
    try {
      run(input)
    } catch {
      // Refusing an input takes time too.
    }
    const { user, system } = process.cpuUsage(began)
    best = Math.min(best, (user + system) / 1000)
  }
  return best
}
const RUNS = 3
const MORE_RUNS = 2
const SUSPICIOUS = 2
