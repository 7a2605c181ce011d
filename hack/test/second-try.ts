/** The second try of tests that failed beside others. */
import type { Outcome, Part } from "./part.ts"
import { type Failure, seedOf } from "./summary.ts"

/** A file of which tests failed. */
export interface FailedFile {
  readonly part: Part
  readonly file: string
  readonly failures: readonly Failure[]
  /** The seed of the test clusters in the first try: the second one meets the same chance. */
  readonly seed: string | undefined
}

/** More failures than a busy machine makes: something is broken, and a second try would only take time. */
export const MOST_FILES = 5

/** Returns the files of a part of which tests failed. */
export function failedFilesOf(part: Part, { failures, output }: Outcome): readonly FailedFile[] {
  const byFile = Map.groupBy(failures, ({ file }) => file)
  return [...byFile].flatMap(([file, failures]) =>
    file === undefined ? [] : [{ part, file, failures, seed: seedOf(output) }],
  )
}

/**
 * Runs each file a second time, alone: in the first try it shared the processors with other parts. Returns those that
 * passed then; none is tried when there are too many.
 */
export async function passedAlone(
  files: readonly FailedFile[],
  run: (part: Part, seed: string | undefined) => Promise<Outcome>,
): Promise<readonly FailedFile[]> {
  if (files.length > MOST_FILES) return []
  const passed: FailedFile[] = []
  for (const failed of files) {
    const { part, file, seed } = failed
    const outcome = await run({ ...part, name: file, paths: [`./${file}`] }, seed)
    if (outcome.passed > 0 && outcome.failed === 0 && outcome.faults.length === 0) passed.push(failed)
  }
  return passed
}
