/** Returns the message of what was thrown, which may be any value. */
export const errorMessage = (err: unknown): string => (err instanceof Error ? err.message : String(err))
