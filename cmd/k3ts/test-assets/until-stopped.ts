/** Resolves at the first SIGTERM or SIGINT. A second one ends the program at once. */
export function untilStopped(onStop: () => void = () => undefined): Promise<void> {
  return new Promise((resolve) => {
    let isStopping = false
    for (const name of ["SIGTERM", "SIGINT"] as const) {
      process.on(name, () => {
        if (isStopping) process.exit(name === "SIGINT" ? 130 : 143)
        isStopping = true
        onStop()
        resolve()
      })
    }
  })
}
