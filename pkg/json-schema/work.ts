/** How much one schema may ask for: a schema of 1 MB takes some 400,000 steps. */
const MOST_STEPS = 1_000_000
/** How deep schemas may be applied in one another, and values nested. */
const MOST_LEVELS = 400
/** As many characters count as one step. */
const CHARACTERS = 64

/** Counts the work of one validation. A schema can ask for an amount that is exponential in its size. */
export class Work {
  #steps = 0
  #level = 0

  /** @throws Error when all that was asked for is too much */
  step(count = 1): void {
    this.#steps += count
    if (this.#steps > MOST_STEPS) throw new Error(`the schema asks for too much work: more than ${MOST_STEPS} steps`)
  }

  /** Counts what takes time in proportion to the length of a text. */
  read(characters: number): void {
    this.step(1 + Math.floor(characters / CHARACTERS))
  }

  /** Does work one level deeper. @throws Error when that is too deep */
  deeper<T>(work: () => T): T {
    this.step()
    if (++this.#level > MOST_LEVELS)
      throw new Error(`the schema, or what it is for, is nested too deep: more than ${MOST_LEVELS} levels`)
    const made = work()
    this.#level--
    return made
  }
}

/** Fails for JSON that is nested too deep to be walked through. @throws Error */
export function checkDepth(whole: unknown): void {
  let level: readonly unknown[] = [whole]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MOST_LEVELS) throw new Error(`the schema is nested too deep: more than ${MOST_LEVELS} levels`)
    level = level.flatMap((value) => (typeof value === "object" && value !== null ? Object.values(value) : []))
  }
}
