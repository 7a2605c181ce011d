import { isLinearizable, type Operation } from "./linearizable.ts"
import { informerFaults, writeFaults, type Change } from "./list-watch.ts"
import type { Recording } from "./recording-client.ts"
import type { RecordingInformer } from "./recording-informer.ts"

/** Returns the wrong answers to clients, given all changes that the servers have agreed on. */
export const faultsOf = (
  changes: readonly Change[],
  recording: Recording,
  informers: readonly Pick<RecordingInformer, "seen" | "stale">[],
): readonly string[] => [
  ...recording.surprises,
  ...[...recording.operations]
    .filter(([, operations]) => !isLinearizable(operations))
    .map(([name, operations]) => `the history of ${name} is not linearizable:\n${inWords(operations)}`),
  ...writeFaults(recording.acknowledged, changes),
  ...informers.flatMap(({ seen, stale }) => [...stale, ...seen.flatMap((one) => informerFaults(one, changes))]),
]

const inWords = (operations: readonly Operation[]): string =>
  operations
    .toSorted((a, b) => a.called - b.called)
    .map((operation) => {
      const { by, called, returned, value } = operation
      const what =
        operation.is === "read" ? `read ${value}` : `wrote ${operation.expected} → ${value}: ${operation.outcome}`
      return `    ${called}–${returned} ${by} ${what}`
    })
    .join("\n")
