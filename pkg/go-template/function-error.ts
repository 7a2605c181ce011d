/** What a function of a template answers instead of a value. */
export class FunctionError extends Error {
  override name = "FunctionError"
}

/** Ends the call of a function. @throws FunctionError */
export const failCall = (message: string): never => {
  throw new FunctionError(message)
}
