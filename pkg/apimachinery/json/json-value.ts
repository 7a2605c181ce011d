import { ExactNumber } from "./exact-number.ts"
import { GoValue } from "../go/go-value.ts"
import { RawJson } from "./raw-json.ts"

/** Whether a value of a parsed document is an object: not null, a list, or JSON kept as text. */
export const isJsonObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof ExactNumber) &&
  !(value instanceof GoValue) &&
  !(value instanceof RawJson)
