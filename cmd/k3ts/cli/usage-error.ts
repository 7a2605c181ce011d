/** What the user wrote is wrong: one line on stderr, exit code 2, nothing started. */
export class UsageError extends Error {
  override readonly name = "UsageError"
}
