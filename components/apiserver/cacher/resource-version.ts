import { ApiError, badRequest, invalid, type Cause } from "../../../pkg/apimachinery/errors.ts"
import { forbiddenField, notSupported } from "../../../pkg/apimachinery/validation/field-errors.ts"
import { goQuoted } from "../../../pkg/apimachinery/go/go-text.ts"
import type { RequestOptions } from "../call/request.ts"

/** Checks the options of a list or watch as a whole. Source: apimachinery pkg/apis/meta/internalversion/validation. */
export function checkListOptions(options: RequestOptions, verb: "list" | "watch", watchList = true): void {
  const causes = verb === "watch" ? watchFaults(options, watchList) : listFaults(options)
  if (causes.length > 0) throw invalid({ group: "meta.k8s.io", kind: "ListOptions" }, "", causes)
}

function listFaults({
  resourceVersion = "",
  resourceVersionMatch: match = "",
  continue: token = "",
  sendInitialEvents,
}: RequestOptions): Cause[] {
  const causes: Cause[] = []
  const forbid = (why: string) => causes.push(forbiddenField("resourceVersionMatch", why))
  if (match !== "") {
    if (resourceVersion === "") forbid("resourceVersionMatch is forbidden unless resourceVersion is provided")
    if (token !== "") forbid("resourceVersionMatch is forbidden when continue is provided")
    if (match !== "Exact" && match !== "NotOlderThan")
      causes.push(notSupported("resourceVersionMatch", match, ["Exact", "NotOlderThan", ""]))
    if (match === "Exact" && resourceVersion === "0")
      forbid('resourceVersionMatch "exact" is forbidden for resourceVersion "0"')
  }
  if (sendInitialEvents !== undefined)
    causes.push(forbiddenField("sendInitialEvents", "sendInitialEvents is forbidden for list"))
  return causes
}

function watchFaults(options: RequestOptions, watchList: boolean): Cause[] {
  const { resourceVersion = "", continue: token = "" } = options
  let { resourceVersionMatch: match = "", sendInitialEvents } = options
  // Source: apimachinery pkg/apis/meta/internalversion SetListOptionsDefaults.
  if (
    watchList &&
    sendInitialEvents === undefined &&
    match === "" &&
    (resourceVersion === "" || resourceVersion === "0")
  )
    [match, sendInitialEvents] = ["NotOlderThan", true]
  const causes: Cause[] = []
  const forbid = (why: string) => causes.push(forbiddenField("resourceVersionMatch", why))
  if (sendInitialEvents !== undefined && match !== "NotOlderThan")
    forbid("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
  if (sendInitialEvents !== undefined && !watchList)
    causes.push(
      forbiddenField(
        "sendInitialEvents",
        "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
      ),
    )
  if (match !== "") {
    if (sendInitialEvents === undefined)
      forbid("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
    if (match !== "NotOlderThan") causes.push(notSupported("resourceVersionMatch", match, ["NotOlderThan"]))
    if (token !== "") forbid("resourceVersionMatch is forbidden when continue is provided")
  }
  return causes
}

/**
 * A resourceVersion that is no number, in the words of upstream's store. Source: apiserver
 * pkg/storage/api_object_versioner.go.
 */
export class ResourceVersionError extends Error {}

/** Parses a resourceVersion; undefined when none was given. @throws ResourceVersionError */
export function parseResourceVersion(text: string | undefined): number | undefined {
  if (text === undefined || text === "") return undefined
  const why = !/^\d+$/.test(text) ? "invalid syntax" : BigInt(text) >= 2n ** 64n ? "value out of range" : undefined
  if (why === undefined) return Number(text)
  const quoted = goQuoted(text)
  throw new ResourceVersionError(
    `resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: ${why}`,
  )
}

/**
 * Parses the resourceVersion of a get or a watch, where upstream passes the error of the store on.
 * @throws ApiError Unknown, with 500
 */
export function versionOfRead(text: string | undefined): number | undefined {
  try {
    return parseResourceVersion(text)
  } catch (err) {
    throw err instanceof ResourceVersionError ? new ApiError("Unknown", err.message) : err
  }
}

/**
 * Parses the resourceVersion of a list.
 * @throws ApiError BadRequest. Source: apiserver pkg/storage/cacher/delegator.go GetList.
 */
export function versionOfList(text: string | undefined): number | undefined {
  try {
    return parseResourceVersion(text)
  } catch (err) {
    throw err instanceof ResourceVersionError ? badRequest(`invalid resource version: ${err.message}`) : err
  }
}

/**
 * Refuses a revision that this server has not reached: the client has it from another server, or the store was
 * restored. `retryAfterSeconds` is part of the error; 0 leaves it out, for requests that upstream refuses without
 * waiting for the revision. Source: apiserver pkg/storage/errors.go.
 */
export function checkNotFuture(wanted: number, current: number, retryAfterSeconds = 1): void {
  if (wanted <= current) return
  throw new ApiError("Timeout", `Timeout: Too large resource version: ${wanted}, current: ${current}`, {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    ...(retryAfterSeconds === 0 ? {} : { retryAfterSeconds }),
  })
}
