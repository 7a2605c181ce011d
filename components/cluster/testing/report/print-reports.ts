import type { Report } from "./report.ts"

/** Calls a function when the test that runs now has failed, as vitest's `onTestFailed` does. */
export type WhenTestFails = (print: () => void) => void

let whenTestFails: WhenTestFails | undefined

/** Prints the report of each cluster of a test that fails. For runners that tell of it: `printReports(onTestFailed)`. */
export function printReports(when: WhenTestFails): void {
  whenTestFails = when
}

/** Arranges for the report of a cluster that starts. A cluster that no test starts has nobody to print it for. */
export function printIfTestFails(report: () => Report): void {
  try {
    whenTestFails?.(() => process.stderr.write(`${String(report())}\n`))
  } catch {
    // The runner has no current test: the cluster is started by a hook, or at the top of a file.
  }
}
