import { ApiError, forbidden } from "../../../pkg/apimachinery/errors.ts"
import { parseFieldSelector } from "../../../pkg/apimachinery/selectors/fieldselector.ts"
import type { Grant } from "../call/grant.ts"
import { whenReady, type MaybePromise } from "../call/maybe-promise.ts"
import type { AuthorizationDecision, NonResourceRequest, ResourceAttributes } from "../call/request.ts"
import type { Authorizer, Decider } from "./authorizer.ts"

/** Adds an annotation to the audit event of a request; absent where no audit log is written. */
type Annotate = ((key: string, value: string) => void) | undefined

/**
 * Authorizes a request, or throws Forbidden, or rejects with it where an authorizer takes time. Every request passes
 * here once: those from outside in `stages/`, before their body is read; those of components of this process in
 * `pipeline.ts`. The decision is recorded in the audit event. Source: apiserver pkg/endpoints/filters/authorization.go.
 */
export function authorize(
  decider: Decider,
  request: ResourceAttributes | NonResourceRequest,
  annotate?: Annotate,
): Grant
export function authorize(
  authorizer: Authorizer,
  request: ResourceAttributes | NonResourceRequest,
  annotate?: Annotate,
): MaybePromise<Grant>
export function authorize(
  authorizer: Authorizer,
  request: ResourceAttributes | NonResourceRequest,
  annotate?: Annotate,
): MaybePromise<Grant> {
  return whenReady(authorizer.authorize(request), (decision: AuthorizationDecision) =>
    grantOf(decision, request, annotate),
  )
}

function grantOf(
  decision: AuthorizationDecision,
  request: ResourceAttributes | NonResourceRequest,
  annotate: Annotate,
): Grant {
  const { error } = decision
  if (!decision.allowed && error !== undefined) {
    annotate?.("authorization.k8s.io/reason", "internal error")
    throw new ApiError("InternalError", `Internal error occurred: ${error.message}`)
  }
  if (annotate !== undefined) {
    annotate("authorization.k8s.io/decision", decision.allowed ? "allow" : "forbid")
    // An authorizer formats its reason when it is read, so the reason is read only when an audit event shows it.
    annotate("authorization.k8s.io/reason", decision.reason)
  }
  if (decision.allowed) return GRANT
  throw forbiddenTo(request, decision.reason)
}

/** Returns the error of a request that may not be made. The reason may be empty. */
export function forbiddenTo(request: ResourceAttributes | NonResourceRequest, reason: string): ApiError {
  const why = refusal(request, reason)
  if ("path" in request) return new ApiError("Forbidden", `forbidden: ${why}`, {})
  return forbidden({ group: request.group, plural: request.resource }, request.name ?? "", why)
}

/** A proof for the type checker, which has no content. */
const GRANT = {} as Grant

/**
 * Formats the message of a 403. Source: apiserver pkg/endpoints/handlers/responsewriters/errors.go forbiddenMessage.
 */
function refusal(request: ResourceAttributes | NonResourceRequest, reason: string): string {
  const who = `User ${JSON.stringify(request.user.name)} cannot ${request.verb}`
  const text = "path" in request ? `${who} path ${JSON.stringify(request.path)}` : `${who} ${resourceText(request)}`
  return reason === "" ? text : `${text}: ${reason}`
}

function resourceText({ group, resource, subresource, namespace }: ResourceAttributes): string {
  const what = subresource === undefined ? resource : `${resource}/${subresource}`
  const where =
    namespace === undefined || namespace === ""
      ? "at the cluster scope"
      : `in the namespace ${JSON.stringify(namespace)}`
  return `resource ${JSON.stringify(what)} in API group ${JSON.stringify(group)} ${where}`
}

/**
 * Returns the name that a request is about: the name in its path, or the one that the field selector of a list or watch
 * selects. Kubelets watch single Secrets by field selector. Source: apiserver pkg/endpoints/request/requestinfo.go.
 */
export function authorizedName(verb: string, name: string | undefined, fieldSelector = ""): string | undefined {
  if (name !== undefined && name !== "") return name
  if ((verb !== "list" && verb !== "watch") || !fieldSelector.includes("metadata.name")) return undefined
  try {
    const selected = parseFieldSelector(fieldSelector).find(
      ({ path, operator }) => path === "metadata.name" && operator !== "!=",
    )?.value
    return selected === undefined || isPathSegment(selected) ? selected : undefined
  } catch {
    return undefined // the registry refuses the selector with a reason
  }
}

/**
 * Returns the selector that authorization considers, if any. Source: apiserver
 * pkg/endpoints/request/requestinfo.go verbsWithSelectors.
 */
export const authorizedSelector = (verb: string, selector: string | undefined): string | undefined =>
  verb === "list" || verb === "watch" || verb === "deletecollection" ? selector : undefined

/** Source: apimachinery pkg/api/validation/path/name.go IsValidPathSegmentName. */
const isPathSegment = (name: string): boolean => name !== "." && name !== ".." && !/[/%]/.test(name)
