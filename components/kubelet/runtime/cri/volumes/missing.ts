export const isMissing = (err: unknown): boolean =>
  err instanceof Error && "code" in err && (err.code === "ENOENT" || err.code === "ENOTDIR")

/** Returns the result of `work`, or undefined when it fails because a file does not exist. */
export async function unlessMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (err) {
    if (isMissing(err)) return undefined
    throw err
  }
}
