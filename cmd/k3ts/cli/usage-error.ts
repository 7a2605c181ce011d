/** The command line, a variable or the config file is wrong: one line on stderr, exit code 2, nothing is started. */
export class UsageError extends Error {
  override readonly name = "UsageError"
}
