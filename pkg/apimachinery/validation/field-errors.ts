import type { Cause } from "../errors.ts"
import type { Problem } from "./names.ts"

/**
 * Makes the causes of field errors, with the messages that clients and the conformance tests match. `field` is a path
 * such as `spec.containers[0].name`; see `at`. Source: apimachinery pkg/util/validation/field/errors.go.
 */
export const required = (field: string, detail = ""): Cause => ({
  reason: "FieldValueRequired",
  field,
  message: detail === "" ? "Required value" : `Required value: ${detail}`,
})
export const invalidValue = (field: string, value: unknown, detail: string): Cause => ({
  reason: "FieldValueInvalid",
  field,
  message: `Invalid value: ${shown(value)}${detail === "" ? "" : `: ${detail}`}`,
})
export const typeInvalid = (field: string, value: unknown, detail: string): Cause => ({
  ...invalidValue(field, value, detail),
  reason: "FieldValueTypeInvalid",
})
/** Returns a cause for each problem that a check of names found. */
export const invalidValues = (field: string, value: unknown, problem: Problem | undefined): readonly Cause[] =>
  problem === undefined
    ? NO_CAUSES
    : typeof problem === "string"
      ? [invalidValue(field, value, problem)]
      : problem.map((each) => invalidValue(field, value, each))
/** For the cases in which upstream does not show the value. */
export const invalidWithoutValue = (field: string, detail: string): Cause => ({
  reason: "FieldValueInvalid",
  field,
  message: `Invalid value: ${detail}`,
})
export const duplicate = (field: string, value: unknown, detail = ""): Cause => ({
  reason: "FieldValueDuplicate",
  field,
  message: `Duplicate value: ${shown(value)}${detail === "" ? "" : `: ${detail}`}`,
})
/** `supported` is in upstream's order, which is usually alphabetical. */
export const notSupported = (field: string, value: unknown, supported: readonly string[]): Cause => ({
  reason: "FieldValueNotSupported",
  field,
  message:
    "Unsupported value: " +
    `${shown(value)}${supported.length === 0 ? "" : `: supported values: ${supported.map((value) => JSON.stringify(value)).join(", ")}`}`,
})
export const forbiddenField = (field: string, detail: string): Cause => ({
  reason: "FieldValueForbidden",
  field,
  message: `Forbidden: ${detail}`,
})
/** For a rule that could not be evaluated. */
export const internalFault = (field: string, why: string): Cause => ({
  reason: "InternalError",
  field,
  message: `Internal error: ${why}`,
})
export const tooLong = (field: string, max: number): Cause => ({
  reason: "FieldValueTooLong",
  field,
  message: `Too long: may not be more than ${max} bytes`,
})
export const tooMany = (field: string, actual: number, max: number): Cause => ({
  reason: "FieldValueTooMany",
  field,
  message: `Too many: ${actual}: must have at most ${max} ${max === 1 ? "item" : "items"}`,
})
export const notFoundField = (field: string, value: unknown, detail = ""): Cause => ({
  reason: "FieldValueNotFound",
  field,
  message: `Not found: ${shown(value)}${detail === "" ? "" : `: ${detail}`}`,
})

/**
 * Appends steps to a path: `at("spec", "containers")` is `spec.containers`, `at("spec.containers", 0)` is
 * `spec.containers[0]`.
 */
export function at(path: string, ...steps: readonly (string | number)[]): string {
  let longer = path
  for (const step of steps)
    longer = typeof step === "number" ? `${longer}[${step}]` : longer === "" ? step : `${longer}.${step}`
  return longer
}

/** The result of a rule that finds no fault. All rules share it, so that a valid object needs no allocation. */
export const NO_CAUSES: readonly Cause[] = []

/**
 * Adds the causes found in a part: `within(causes, validatePort(port), "ports", 0)`. A rule names fields relative to
 * the value that it checks, and each caller prepends its own steps (none for the step ""), so paths are only built for
 * faults.
 */
export function within(causes: Cause[], found: readonly Cause[], step: string | number, index?: number): void {
  if (found.length === 0) return
  const path = index === undefined ? at("", step) : at("", step, index)
  for (const cause of found) causes.push({ ...cause, field: joined(path, cause.field ?? "") })
}

/**
 * Adds the causes found in each item of a list: `eachWithin(causes, tolerations, "tolerations", validateToleration)`.
 */
export function eachWithin<T>(
  causes: Cause[],
  items: readonly T[] | undefined,
  field: string,
  validate: (item: T) => readonly Cause[],
): void {
  if (items === undefined) return
  for (let i = 0; i < items.length; i++) within(causes, validate(items[i]!), field, i)
}

const joined = (path: string, rest: string): string =>
  path === "" || rest === "" || rest.startsWith("[") ? path + rest : `${path}.${rest}`

/** Returns the path of a key in a map: `metadata.labels[app]`. */
export const atKey = (path: string, key: string): string => `${path}[${key}]`

/** Formats a value as Go's field errors do: strings quoted, numbers and booleans bare, the rest as JSON. */
function shown(value: unknown): string {
  if (value === undefined || value === null) return "null"
  const text = JSON.stringify(value)
  if (typeof value !== "object") return text
  return text.replace(/[<>&]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`)
}
