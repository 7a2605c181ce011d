/** The result of `work`, or the reason of `signal` when it aborts before; what `work` does then is nobody's concern. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error)
    if (signal.aborted) onAbort()
    signal.addEventListener("abort", onAbort, { once: true })
    void work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort))
  })
}
