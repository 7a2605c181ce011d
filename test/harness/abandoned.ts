/** The clean-ups of what tests have set up on this host, for the case that a signal ends the test run. */
const abandoned = new Set<() => void>()
for (const [signal, code] of [
  ["SIGTERM", 143],
  ["SIGINT", 130],
  ["SIGHUP", 129],
] as const) {
  process.once(signal, () => {
    for (const clearAway of abandoned) clearAway()
    process.exit(code)
  })
}

/** Runs `clearAway`, which must not wait for anything, when a signal ends the test run before `release`. */
export function onCutOff(clearAway: () => void): { release(): void } {
  abandoned.add(clearAway)
  return { release: () => void abandoned.delete(clearAway) }
}
