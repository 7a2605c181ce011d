import { ExactNumber } from "./exact-number.ts"

/** Whether a value of a parsed document is an object, and neither null nor a list nor a number kept as text. */
export const isJsonObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
