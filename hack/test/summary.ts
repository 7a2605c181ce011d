/** How many tests passed, failed and were skipped, from the last summary that `bun test` wrote; 0 for what it left out. */
export function summaryOf(output: string): {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
} {
  const count = (word: string) => Number([...output.matchAll(new RegExp(`^ *(\\d+) ${word}$`, "gm"))].at(-1)?.[1] ?? 0)
  return {
    passed: count("pass"),
    failed: count("fail") + count("errors?"),
    skipped: count("skip") + count("todo"),
  }
}
