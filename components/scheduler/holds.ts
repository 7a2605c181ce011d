import type { Clock } from "../../pkg/clock/clock.ts"

export interface Wait {
  /** Whether the wait is over. @throws Error when it cannot end well any more */
  check(): boolean
  /** Calls `look` when `check` may have another result, until the returned function is called. */
  listen(look: () => void): () => void
  readonly clock: Clock
  readonly timeoutMs: number
  /** What to say when the time is over. */
  readonly late: string
  readonly signal: AbortSignal
}

/**
 * Resolves when `check` is true. @throws what `check` throws; Error with the words of `late` when the time is over;
 * what `signal` aborted with
 */
export function holds({ check, listen, clock, timeoutMs, late, signal }: Wait): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => {
      timer.cancel()
      signal.removeEventListener("abort", onAbort)
      off()
      settle()
    }
    const look = () => {
      try {
        if (check()) end(resolve)
      } catch (err) {
        end(() => reject(err as Error))
      }
    }
    const onAbort = () => end(() => reject(signal.reason as Error))
    const timer = clock.setTimeout(() => end(() => reject(new Error(late))), timeoutMs)
    signal.addEventListener("abort", onAbort, { once: true })
    const off = listen(look)
    if (signal.aborted) onAbort()
    else look()
  })
}
