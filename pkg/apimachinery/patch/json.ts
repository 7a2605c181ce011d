import { deepEqual } from "../equal.ts"
import { ApiError, badRequest } from "../errors.ts"

/**
 * JSON Patch (RFC 6902) on immutable values: what a patch does not touch is shared with the result.
 * Our own rather than a package, since packages change the document in place. Source of limits and errors: apiserver
 * endpoints/handlers/patch.go jsonPatcher, and the words of evanphx/json-patch.
 */
const MOST_OPERATIONS = 10_000

/**
 * @throws ApiError BadRequest when the patch itself is malformed, RequestEntityTooLarge over 10,000 operations, Invalid (422) when it does not
 * fit the document or a `test` fails.
 */
export function applyJsonPatch(document: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch))
    throw badRequest("error decoding patch: json: cannot unmarshal object into Go value of type jsonpatch.Patch")
  if (patch.length > MOST_OPERATIONS)
    throw new ApiError(
      "RequestEntityTooLarge",
      `The allowed maximum operations in a JSON patch is ${MOST_OPERATIONS}, got ${patch.length}`,
    )
  return patch.reduce<unknown>((result, operation, i) => applyOperation(result, operationOf(operation, i)), document)
}

interface Operation {
  readonly op: string
  readonly path: string
  readonly from: string | undefined
  readonly value: unknown
}

function operationOf(operation: unknown, i: number): Operation {
  if (typeof operation !== "object" || operation === null || Array.isArray(operation))
    throw badRequest(`error decoding patch: operation ${i} is no object`)
  const { op, path, from, value } = operation as Record<string, unknown>
  if (typeof op !== "string") throw doesNotFit(`Unexpected kind: unknown`)
  if (typeof path !== "string") throw doesNotFit(`${op} operation failed to decode path: missing value`)
  if ((op === "move" || op === "copy") && typeof from !== "string")
    throw doesNotFit(`${op} operation failed to decode from: missing value`)
  return { op, path, from: typeof from === "string" ? from : undefined, value: value ?? null }
}

function applyOperation(document: unknown, { op, path, from, value }: Operation): unknown {
  const steps = stepsOf(op, path)
  switch (op) {
    case "add":
      return add(document, steps, value, op, path)
    case "remove":
      return remove(document, steps, op, path)
    case "replace":
      if (steps.length > 0) find(document, steps, op, path)
      return steps.length === 0 ? value : add(remove(document, steps, op, path), steps, value, op, path)
    case "move": {
      const source = stepsOf(op, from!)
      const moved = find(document, source, op, from!)
      if (path !== from && path.startsWith(`${from}/`))
        throw doesNotFit(`move operation does not apply: ${path} is inside ${from}`)
      return add(remove(document, source, op, from!), steps, moved, op, path)
    }
    case "copy":
      return add(document, steps, find(document, stepsOf(op, from!), op, from!), op, path)
    case "test": {
      // A missing value equals null, as evanphx/json-patch has it.
      const found = peek(document, steps) ?? null
      if (!deepEqual(found, value)) throw doesNotFit(`testing value ${path} failed: test failed`)
      return document
    }
    default:
      throw doesNotFit(`Unexpected kind: ${op}`)
  }
}

function stepsOf(op: string, path: string): string[] {
  if (path === "") return []
  if (!path.startsWith("/"))
    throw doesNotFit(`${op} operation does not apply: doc is missing path: ${JSON.stringify(path)}: missing value`)
  return path
    .slice(1)
    .split("/")
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"))
}

function peek(document: unknown, steps: readonly string[]): unknown {
  let at = document
  for (const step of steps) {
    if (Array.isArray(at)) at = at[indexOf(step, at.length)]
    else if (isObject(at) && Object.hasOwn(at, step)) at = at[step]
    else return undefined
  }
  return at
}

function find(document: unknown, steps: readonly string[], op: string, path: string): unknown {
  const found = peek(document, steps)
  if (found === undefined)
    throw doesNotFit(
      `${op} operation does not apply: doc is missing ${op === "replace" ? "key" : "path"}: ${path}: missing value`,
    )
  return found
}

function add(at: unknown, [step, ...rest]: readonly string[], value: unknown, op: string, path: string): unknown {
  if (step === undefined) return value
  if (Array.isArray(at)) {
    if (rest.length > 0) {
      const i = indexOf(step, at.length)
      return at[i] === undefined ? missing(op, path) : at.with(i, add(at[i], rest, value, op, path))
    }
    const i = step === "-" ? at.length : indexOf(step, at.length + 1)
    if (i < 0 || i > at.length)
      throw doesNotFit(
        `${op} operation does not apply: doc is missing path: ${JSON.stringify(path)}: Unable to access invalid index: ${step}: invalid index referenced`,
      )
    return at.toSpliced(i, 0, value)
  }
  if (!isObject(at)) return missing(op, path)
  if (rest.length === 0) return assigned(at, step, value)
  return Object.hasOwn(at, step) ? assigned(at, step, add(at[step], rest, value, op, path)) : missing(op, path)
}

function remove(at: unknown, [step, ...rest]: readonly string[], op: string, path: string): unknown {
  if (step === undefined) return missing(op, path)
  if (Array.isArray(at)) {
    const i = indexOf(step, at.length)
    if (at[i] === undefined)
      throw doesNotFit(
        `${op} operation does not apply: doc is missing path: ${JSON.stringify(path)}: Unable to access invalid index: ${step}: invalid index referenced`,
      )
    return rest.length === 0 ? at.toSpliced(i, 1) : at.with(i, remove(at[i], rest, op, path))
  }
  if (!isObject(at) || !Object.hasOwn(at, step)) return missing(op, path)
  if (rest.length > 0) return assigned(at, step, remove(at[step], rest, op, path))
  const { [step]: _gone, ...kept } = at
  return kept
}

/** A list index; negative ones count from the end. NaN where it is none. */
function indexOf(step: string, length: number): number {
  if (!/^(-?[1-9]\d*|0)$/.test(step)) return NaN
  const i = Number(step)
  return i < 0 ? i + length : i
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** A copy with one key set; the key may be `__proto__`. */
const assigned = (object: object, key: string, value: unknown): object =>
  Object.defineProperty({ ...object }, key, { value, enumerable: true, writable: true, configurable: true })

function missing(op: string, path: string): never {
  throw doesNotFit(`${op} operation does not apply: doc is missing path: ${JSON.stringify(path)}: missing value`)
}

/** Upstream's words hide the reason; it goes into the causes, with a field since kubectl prints one. */
const doesNotFit = (why: string): ApiError =>
  new ApiError("Invalid", "the server rejected our request due to an error in our request", {
    causes: [{ reason: "UnexpectedServerResponse", field: "patch", message: why }],
  })
