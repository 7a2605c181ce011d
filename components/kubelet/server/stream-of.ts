/**
 * Returns parts as the body of a response. They end when the body is cancelled, and when `signal` aborts: of a body
 * that nobody reads, the first part is made all the same.
 */
export function streamOf(parts: AsyncIterable<Uint8Array>, signal: AbortSignal): ReadableStream<Uint8Array> {
  const iterator = parts[Symbol.asyncIterator]()
  const end = async () => void (await iterator.return?.())
  const onAbort = () => void end().catch(() => undefined)
  if (signal.aborted) onAbort()
  else signal.addEventListener("abort", onAbort, { once: true })
  const isOver = () => signal.removeEventListener("abort", onAbort)
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next()
      if (done !== true) return controller.enqueue(value)
      isOver()
      controller.close()
    },
    cancel: () => (isOver(), end()),
  })
}
