/** What the output of `bun test` says of its tests. */
export interface Summary {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** The titles of the tests that failed, each with the time it took, and how many errors there were outside of tests. */
  readonly failures: readonly string[]
}

/** Reads the last summary that `bun test` wrote, and the tests that failed; 0 for what it left out. */
export function summaryOf(output: string): Summary {
  const count = (word: string) => Number([...output.matchAll(new RegExp(`^ *(\\d+) ${word}$`, "gm"))].at(-1)?.[1] ?? 0)
  const errors = count("errors?")
  return {
    passed: count("pass"),
    failed: count("fail") + errors,
    skipped: count("skip") + count("todo"),
    failures: [
      ...new Set([...output.matchAll(/^\(fail\) (.*)$/gm)].map((match) => match[1] ?? "")),
      ...(errors > 0 ? [`${errors} error${errors > 1 ? "s" : ""} outside of a test`] : []),
    ],
  }
}
