import { Buffer } from "node:buffer"
import { deepEqual } from "../json/equal.ts"
import { ApiError, badRequest } from "../errors.ts"
import { setKey } from "../json/set-key.ts"
import { Draft, indexOf } from "./draft.ts"

/**
 * JSON Patch (RFC 6902) on immutable values: parts that a patch does not touch are shared with the result. No package
 * is used, since packages change the document in place. Source of limits and errors: apiserver
 * endpoints/handlers/patch.go jsonPatcher, and the messages of evanphx/json-patch.
 */
const MOST_OPERATIONS = 10_000
/**
 * The most bytes that all `copy` operations together may copy: as many as a request may have. Source: apiserver
 * pkg/server/config.go JSONPatchMaxCopyBytes.
 */
const MOST_COPIED_BYTES = 3 * 1024 * 1024

/**
 * @throws ApiError BadRequest when the patch itself is malformed, RequestEntityTooLarge when it has over 10,000
 * operations or needs too much work, Invalid (422) when it does not fit the document or a `test` fails
 */
export function applyJsonPatch(document: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch))
    throw badRequest("error decoding patch: json: cannot unmarshal object into Go value of type jsonpatch.Patch")
  if (patch.length > MOST_OPERATIONS)
    throw tooLarge(`The allowed maximum operations in a JSON patch is ${MOST_OPERATIONS}, got ${patch.length}`)
  const draft = new Draft(document)
  const copied = { bytes: 0 }
  try {
    for (const operation of patch) applyOperation(draft, operationOf(operation), copied)
  } catch (err) {
    throw err instanceof RangeError ? tooLarge(err.message) : err
  }
  return draft.root
}

const tooLarge = (why: string): ApiError => new ApiError("RequestEntityTooLarge", `Request entity too large: ${why}`)

type Operation = Readonly<Record<string, unknown>> & { readonly op: string }

/** An operation without a readable `op` is an unknown operation. */
function operationOf(operation: unknown): Operation {
  const { op, ...fields } = (operation ?? {}) as Readonly<Record<string, unknown>>
  return { ...fields, op: typeof op === "string" ? op : "unknown" }
}

/**
 * Applies one operation. A key that an object lacks counts as one with null: it can be replaced, copied and tested.
 * Paths begin with a slash, or with a word that is ignored. Source of both: evanphx/json-patch.
 */
function applyOperation(draft: Draft, operation: Operation, copied: { bytes: number }): void {
  const { op, value = null } = operation
  const apply = OPERATIONS[op]
  if (apply === undefined) throw doesNotFit(`Unexpected kind: ${op}`)
  const text = (field: "path" | "from"): string => {
    const given = operation[field]
    if (typeof given === "string") return given
    const what = field === "path" ? "operation missing path field" : "operation, missing from field"
    throw doesNotFit(`${op} operation failed to decode ${field}: ${what}: missing value`)
  }
  apply({ draft, text, value, copied })
}

interface Step {
  readonly draft: Draft
  /** @throws ApiError when the operation does not have this field as a string */
  text(field: "path" | "from"): string
  readonly value: unknown
  /** Counts the bytes that all operations copy. */
  readonly copied: { bytes: number }
}

const OPERATIONS: Readonly<Record<string, (step: Step) => void>> = {
  add({ draft, text, value }) {
    const path = text("path")
    const place = placeOf(draft, path) ?? missing("add", "path", JSON.stringify(path))
    insert(draft, place, value, `error in add for path: '${path}'`)
  },
  remove({ draft, text }) {
    const path = text("path")
    const place = placeOf(draft, path) ?? missing("remove", "path", JSON.stringify(path))
    take(draft, place, `error in remove for path: '${path}'`)
  },
  replace({ draft, text, value }) {
    const path = text("path")
    if (path === "") {
      if (typeof value !== "object" || value === null)
        throw doesNotFit("replace operation value must be object or array")
      draft.root = value
      return
    }
    const { holder, key } = placeOf(draft, path) ?? missing("replace", "path", path)
    if (!Array.isArray(holder)) return setKey(holder, key, value)
    const i = indexOf(key, holder.length)
    if (!(i >= 0 && i < holder.length)) return missing("replace", "key", path)
    holder[i] = value
  },
  move({ draft, text }) {
    const from = text("from")
    const source = placeOf(draft, from) ?? missing("move", "from path", from)
    const moved = take(draft, source, `error in move for path: '${source.key}'`)
    const path = text("path")
    const place = placeOf(draft, path) ?? missing("move", "destination path", path)
    insert(draft, place, moved, `error in move for path: '${path}'`)
  },
  copy({ draft, text, copied }) {
    const from = text("from")
    const source = placeOf(draft, from) ?? missing("copy", "from path", from)
    const found = valueAt(source, `error in copy for from: '${from}'`) ?? null
    copied.bytes += found === null ? 0 : Buffer.byteLength(JSON.stringify(found))
    if (copied.bytes > MOST_COPIED_BYTES)
      throw doesNotFit(
        `Unable to complete the copy, the accumulated size increase of copy is ${copied.bytes}, exceeding the limit ${MOST_COPIED_BYTES}`,
      )
    // Must happen before the destination is resolved, whose path may lead through the copied value.
    draft.share(found)
    const path = text("path")
    const place = placeOf(draft, path) ?? missing("copy", "destination path", path)
    insert(draft, place, found, "error while adding value during copy")
  },
  test({ draft, text, value }) {
    const path = text("path")
    let found: unknown
    if (path === "") found = draft.root
    else {
      const place = placeOf(draft, path)
      if (place === undefined)
        throw doesNotFit(`test operation does not apply: is missing path: ${path}: missing value`)
      found = valueAt(place, `error in test for path: '${path}'`) ?? null
    }
    if (!deepEqual(found, value)) throw doesNotFit(`testing value ${path} failed: ${TEST_FAILED}`)
  },
}

/** A key of an existing object or list, to which a path leads. */
interface Place {
  readonly holder: unknown[] | Record<string, unknown>
  readonly key: string
}

/** Returns undefined when nothing can contain the last step of the path. */
function placeOf(draft: Draft, path: string): Place | undefined {
  const steps = path
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"))
  const key = steps.at(-1)
  const holder = key === undefined ? undefined : draft.holderOf(steps)
  return holder === undefined ? undefined : { holder, key: key! }
}

/**
 * Returns the value at a place; undefined when an object does not have the key. @throws for an index outside of a list
 */
function valueAt({ holder, key }: Place, problem: string): unknown {
  if (!Array.isArray(holder)) return Object.hasOwn(holder, key) ? holder[key] : undefined
  return holder[existing(holder, key, problem)]
}

function insert(draft: Draft, { holder, key }: Place, value: unknown, problem: string): void {
  if (!Array.isArray(holder)) return setKey(holder, key, value)
  const length = holder.length + 1
  const i = key === "-" ? holder.length : indexOf(key, length)
  if (Number.isNaN(i)) throw doesNotFit(`${problem}: value was not a proper array index: '${key}': ${notANumber(key)}`)
  if (i < 0 || i >= length) throw badIndex(problem, key)
  draft.insert(holder, i, value)
}

function take(draft: Draft, place: Place, problem: string): unknown {
  const { holder, key } = place
  const taken = valueAt(place, problem)
  if (Array.isArray(holder)) draft.removeAt(holder, indexOf(key, holder.length))
  else if (Object.hasOwn(holder, key)) delete holder[key]
  else throw doesNotFit(`${problem}: Unable to remove nonexistent key: ${key}: missing value`)
  return taken
}

function existing(list: readonly unknown[], key: string, problem: string): number {
  const i = indexOf(key, list.length)
  if (Number.isNaN(i)) throw doesNotFit(`${problem}: ${notANumber(key)}`)
  if (i < 0 || i >= list.length) throw badIndex(problem, key)
  return i
}

const notANumber = (key: string): string => `strconv.Atoi: parsing ${JSON.stringify(key)}: invalid syntax`

const badIndex = (problem: string, key: string): ApiError =>
  doesNotFit(`${problem}: Unable to access invalid index: ${Number(key)}: invalid index referenced`)

function missing(op: string, what: string, path: string): never {
  throw doesNotFit(`${op} operation does not apply: doc is missing ${what}: ${path}: missing value`)
}

const TEST_FAILED = "test failed"

/** Whether a patch that is otherwise valid was stopped by a `test` operation. */
export const isFailedTest = ({ cause }: ApiError): boolean => typeof cause === "string" && cause.endsWith(TEST_FAILED)

/** The cause has the message of evanphx/json-patch, which upstream does not send to clients. */
const doesNotFit = (why: string): ApiError =>
  new ApiError("Invalid", "the server rejected our request due to an error in our request", {}, { cause: why })
