/**
 * Returns a signal that aborts at the first SIGTERM or SIGINT, for `runOperator`: the operator then finishes its work
 * and releases its Lease. A second one ends the process at once.
 */
export function stopSignal(): AbortSignal {
  const ending = new AbortController()
  for (const [name, code] of [
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const)
    process.on(name, () => {
      if (ending.signal.aborted) process.exit(code)
      ending.abort(new Error(`received ${name}`))
    })
  return ending.signal
}
