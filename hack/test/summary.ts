/** What the output of `bun test` says of its tests. */
export interface Summary {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  readonly failures: readonly Failure[]
}

/** A test that failed, or errors outside of tests. */
export interface Failure {
  /** The path of the test's file; undefined for errors outside of tests, of which the end of the output names none. */
  readonly file?: string
  /** The title of the test with the time it took, or how many errors there were. */
  readonly title: string
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
      ...failedTests(output),
      ...(errors > 0 ? [{ title: `${errors} error${errors > 1 ? "s" : ""} outside of a test` }] : []),
    ],
  }
}

/** Returns the tests that failed, with the file under whose heading each is told; a long run tells each a second time. */
function failedTests(output: string): readonly Failure[] {
  const found = new Map<string, Failure>()
  let file: string | undefined
  for (const line of output.split("\n")) {
    file = /^(\S+\.test\.ts):$/.exec(line)?.[1] ?? file
    const title = /^\(fail\) (.*)$/.exec(line)?.[1]
    if (title !== undefined && !found.has(title)) found.set(title, { ...(file !== undefined && { file }), title })
  }
  return [...found.values()]
}

/** Returns the seed of the test clusters of a run, with which it can be repeated; undefined where it had none. */
export const seedOf = (output: string): string | undefined => /\(K3TS_SEED=(\d+) replays it\)/.exec(output)?.[1]
