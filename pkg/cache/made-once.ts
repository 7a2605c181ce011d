/**
 * Returns a function that makes a value when it is first called, and returns the same afterwards. A value that could
 * not be made is made again by the next call, so that a want of file descriptors, for instance, does not last.
 */
export function madeOnce<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () =>
    (made ??= make().catch((err: unknown) => {
      made = undefined
      throw err
    }))
}
