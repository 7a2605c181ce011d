/**
 * Resolves to the result of `work`, or rejects with the reason of `signal` when that aborts first. What `work` does
 * after that, an error too, is ignored.
 */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error)
    if (signal.aborted) onAbort()
    signal.addEventListener("abort", onAbort, { once: true })
    void work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort))
  })
}
