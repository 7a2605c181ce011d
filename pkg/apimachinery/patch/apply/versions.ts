import { ApiError } from "../../errors.ts"
import type { KubeObject, Resource } from "../../resource.ts"
import { compare, type Comparison } from "./compare.ts"
import type { Entry } from "./managers.ts"
import { withoutReset } from "./reset-fields.ts"
import { shapeOf } from "./shape.ts"

/**
 * Managers may have written an object in different versions of its kind. The fields that each of them owns are those of
 * its own version. So changes are compared in the version of each manager, and the object is converted to it. Source:
 * structured-merge-diff merge/update.go; apimachinery pkg/util/managedfields/internal/versionconverter.go.
 */

/** An object in one version, and the declaration of that version. */
export interface Versioned {
  readonly resource: Resource
  readonly object: KubeObject
}

/** A request for an object in the version `apiVersion`. */
export interface Wanted {
  readonly object: object
  readonly apiVersion: string
}

/**
 * Converts an object; undefined when the version is not known, whose managers are then dropped. Returns a promise when
 * a webhook converts. May throw or reject with an ApiError.
 */
export type ConvertVersion = (wanted: Wanted) => Versioned | undefined | Promise<Versioned | undefined>

/**
 * A computation that stops when it needs an object in another version, and continues with the converted object. Where
 * it yields undefined, much work may be done and much be left: others can be served before it continues.
 */
export type Steps<T> = Generator<Wanted | undefined, T, Versioned | undefined>

/** Resolves when others have been served. */
export type Pause = () => Promise<void>

/** Runs a computation. Returns a promise only if a conversion returned one, or where there is a `pause`. */
export function run<T>(steps: Steps<T>, convert: ConvertVersion, pause?: Pause): T | Promise<T> {
  let step = steps.next()
  while (step.done !== true) {
    const converted = attempt(convert, step.value, pause)
    if (converted instanceof Promise) return runAfter(steps, converted, convert, pause)
    step = "error" in converted ? steps.throw(converted.error) : steps.next(converted.value)
  }
  return step.value
}

async function runAfter<T>(
  steps: Steps<T>,
  first: Promise<Versioned | undefined>,
  convert: ConvertVersion,
  pause: Pause | undefined,
): Promise<T> {
  let pending = first
  for (;;) {
    const step = await pending.then(
      (converted) => steps.next(converted),
      (error: unknown) => steps.throw(error),
    )
    if (step.done === true) return step.value
    const answer = attempt(convert, step.value, pause)
    pending =
      answer instanceof Promise
        ? answer
        : "error" in answer
          ? Promise.reject(answer.error as Error)
          : Promise.resolve(answer.value)
  }
}

/** Converts an object, or pauses. An error is thrown into the computation, which may add what it was doing. */
function attempt(
  convert: ConvertVersion,
  wanted: Wanted | undefined,
  pause: Pause | undefined,
): Promise<Versioned | undefined> | { readonly value: Versioned | undefined } | { readonly error: unknown } {
  if (wanted === undefined) return pause === undefined ? NOTHING_WANTED : pause().then(() => undefined)
  try {
    const converted = convert(wanted)
    return converted instanceof Promise ? converted : { value: converted }
  } catch (error) {
    return { error }
  }
}
const NOTHING_WANTED = { value: undefined }

/** Runs a computation at once in which no manager has another known version. */
export function runAlone<T>(steps: Steps<T>): T {
  let step = steps.next()
  while (step.done !== true) step = steps.next(undefined)
  return step.value
}

export const hasOtherVersions = (entries: readonly Entry[], { apiVersion }: { readonly apiVersion: string }): boolean =>
  entries.some((entry) => entry.apiVersion !== apiVersion)

/** The live object in the version of each manager. Versions that are not known have no entry. */
export type LiveVersions = ReadonlyMap<string, Versioned>

export function* liveIn(resource: Resource, live: KubeObject, entries: readonly Entry[]): Steps<LiveVersions> {
  const found = new Map<string, Versioned>([[resource.apiVersion, { resource, object: live }]])
  for (const apiVersion of new Set(entries.map((entry) => entry.apiVersion ?? ""))) {
    if (found.has(apiVersion)) continue
    const shown = yield { object: live, apiVersion }
    if (shown !== undefined) found.set(apiVersion, shown)
  }
  return found
}

/** The changes in versions other than that of the request: see `Comparison`. */
export type Changes = ReadonlyMap<string, Comparison>

/** Compares the live object with the one that is to be stored, in each version except `own`. */
export function* changesIn(
  live: LiveVersions,
  next: object,
  { apiVersion: own }: { readonly apiVersion: string },
  subresource: string | undefined,
): Steps<Changes> {
  const found = new Map<string, Comparison>()
  for (const [apiVersion, { resource, object }] of live) {
    if (apiVersion === own) continue
    const after = yield* saying("failed to convert new object", { object: next, apiVersion })
    if (after === undefined) continue
    yield
    const { changed, removed } = compare(shapeOf(resource.schema), object, after.object)
    found.set(apiVersion, {
      changed: withoutReset(resource, changed, subresource),
      removed: withoutReset(resource, removed, subresource),
    })
  }
  return found
}

/** Converts an object. An error says what the conversion was for. */
export function* saying(what: string, wanted: Wanted): Steps<Versioned | undefined> {
  try {
    return yield wanted
  } catch (error) {
    throw error instanceof ApiError ? new ApiError("Unknown", `${what}: ${error.message}`) : error
  }
}
