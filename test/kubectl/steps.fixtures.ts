import { expect, test } from "bun:test"
import type { Cluster } from "../../components/cluster/testing/testing.ts"

/** A command, what it prints on both streams together, and its exit code. */
export type Step = readonly [command: string, output: string | RegExp, code?: number]

/**
 * In milliseconds, for a hundred commands on a busy machine. When the runtime gives a test up, the next one runs beside
 * what the first still does to their cluster.
 */
const LONGEST_MS = 60_000

/** Runs commands one after another in a cluster, and compares all that they say. */
export function steps(
  title: string,
  cluster: () => Cluster,
  rows: readonly Step[],
  files: Readonly<Record<string, string>> = {},
): void {
  test(
    title,
    async () => {
      for (const [command, output, code = 0] of rows) {
        const ran = await cluster().kubectl(command, { files })
        const text = `${ran.stdout}${ran.stderr}`
        if (typeof output === "string") expect([command, text, ran.code]).toEqual([command, output, code])
        else expect([output.test(text) ? "" : text, ran.code]).toEqual(["", code])
      }
    },
    LONGEST_MS,
  )
}
