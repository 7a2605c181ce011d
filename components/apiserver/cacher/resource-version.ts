import { ApiError, invalid, type Cause } from "../../../pkg/apimachinery/errors.ts"
import { forbiddenField, invalidValue, notSupported } from "../../../pkg/apimachinery/field-errors.ts"
import type { RequestOptions } from "../request.ts"

/**
 * What is wrong with the options of a list or watch as a whole. Source: apimachinery
 * pkg/apis/meta/internalversion/validation.
 */
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

function watchFaults(
  { resourceVersionMatch: match = "", continue: token = "", sendInitialEvents }: RequestOptions,
  watchList: boolean,
): Cause[] {
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
 * A resourceVersion as a number; undefined when it was not given. @throws ApiError Invalid for text that is no number.
 */
export function parseResourceVersion(text: string | undefined): number | undefined {
  if (text === undefined || text === "") return undefined
  if (!/^\d{1,16}$/.test(text))
    throw invalid({ group: "", kind: "resourceVersion" }, "", [
      invalidValue("resourceVersion", text, `strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`),
    ])
  return Number(text)
}

/**
 * A version that this server has not reached: the client has seen another one's, or a store that was set back. Source:
 * apiserver pkg/storage/errors.go.
 */
export function checkNotFuture(wanted: number, current: number): void {
  if (wanted <= current) return
  throw new ApiError("Timeout", `Too large resource version: ${wanted}, current: ${current}`, {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    retryAfterSeconds: 1,
  })
}
