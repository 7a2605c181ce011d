/**
 * A user who binds a policy to parameters must be allowed to read them, because the policy's expressions could reveal
 * them. Source: pkg/registry/admissionregistration/{validating,mutating}admissionpolicy{,binding}/authz.go.
 */
import type { ParamKind, ParamRef } from "../../../../pkg/api/admissionregistration/v1/matchresources.ts"
import type { Scheme } from "../../../../pkg/api/scheme.ts"
import { deepEqual } from "../../../../pkg/apimachinery/json/equal.ts"
import { invalid } from "../../../../pkg/apimachinery/errors.ts"
import { forbiddenField } from "../../../../pkg/apimachinery/validation/field-errors.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { Objects } from "../../cacher/objects.ts"
import type { KindHooks } from "../context.ts"
import type { ApiRequest, UserInfo } from "../../call/request.ts"

interface PolicyLike extends KubeObject {
  readonly spec: { readonly paramKind?: ParamKind }
}
interface BindingLike extends KubeObject {
  readonly spec: { readonly policyName?: string; readonly paramRef?: ParamRef }
}

/** Hooks of policies: a user who names a kind of parameters must be allowed to get all objects of it. */
export const policyHooks = (scheme: Scheme): KindHooks => ({
  checkWrite(request, object, old, decider) {
    const { paramKind } = (object as PolicyLike).spec
    if (paramKind === undefined || isSuperuser(request.user)) return
    if (deepEqual(paramKind, (old as PolicyLike | undefined)?.spec.paramKind)) return
    const { user } = request
    const { resource, ...groupVersion } = readFrom(paramKind, scheme)
    if (decider.authorize({ user, verb: "get", ...groupVersion, resource, namespace: "*", name: "*" }).allowed) return
    refuse(
      request,
      object,
      "spec.paramKind",
      `user ${shownUser(user)} must have "get" permission on all objects of the referenced paramKind ` +
        `(kind=${paramKind.kind ?? ""}, apiVersion=${paramKind.apiVersion ?? ""})`,
    )
  },
})

/** Hooks of policy bindings: a user who refers to parameters must be allowed to get them, or to list all of them. */
export const policyBindingHooks = (
  policies: Resource,
  { scheme, objects }: { readonly scheme: Scheme; readonly objects: Objects },
): KindHooks => ({
  checkWrite(request, object, _old, decider) {
    const { policyName = "", paramRef } = (object as BindingLike).spec
    if (paramRef === undefined || isSuperuser(request.user)) return
    const policy = objects.get(policies, { name: policyName }) as PolicyLike | undefined
    const paramKind = policy?.spec.paramKind
    const { resource, ...groupVersion } = paramKind === undefined ? EVERYTHING : readFrom(paramKind, scheme)
    const { user } = request
    const { name = "", namespace = "" } = paramRef
    const verb = name === "" ? "list" : "get"
    const allowed = decider.authorize({
      user,
      verb,
      ...groupVersion,
      resource,
      namespace: namespace === "" ? undefined : namespace,
      name: name === "" ? undefined : name,
    }).allowed
    if (allowed) return
    const everything = `and user ${shownUser(user)} does not have "${verb}" permission for all groups, versions and resources`
    const shown = paramKind === undefined ? "" : `&{${paramKind.apiVersion ?? ""} ${paramKind.kind ?? ""}}`
    // Upstream's last message swaps user and verb for bindings of mutating policies.
    const [who, what] = policies.kind === "MutatingAdmissionPolicy" ? [verb, shownUser(user)] : [shownUser(user), verb]
    refuse(
      request,
      object,
      "spec.paramRef",
      policy === undefined
        ? `unable to get policy ${policyName} to determine minimum required permissions ${everything}`
        : groupVersion.group === "*" && paramKind !== undefined
          ? `unable to parse paramKind ${shown} to determine minimum required permissions ${everything}`
          : resource === "*" && paramKind !== undefined
            ? `unable to resolve paramKind ${shown} to determine minimum required permissions ${everything}`
            : `user ${who} does not have "${what}" permission on the object referenced by paramRef`,
    )
  },
})

/** Where the kind of the parameters is unknown, the user needs a right to everything. */
const EVERYTHING = { group: "*", version: "*", resource: "*" }

function readFrom({ apiVersion = "", kind = "" }: ParamKind, scheme: Scheme): typeof EVERYTHING {
  const parts = apiVersion.split("/")
  if (parts.length > 2) return EVERYTHING
  const [version = "", group = ""] = parts.toReversed()
  return { group, version, resource: scheme.of(apiVersion, kind)?.plural ?? "*" }
}

const isSuperuser = ({ groups }: UserInfo): boolean => groups.includes("system:masters")

function refuse({ resource }: ApiRequest, { metadata }: KubeObject, field: string, why: string): never {
  throw invalid(resource, metadata.name ?? "", [forbiddenField(field, why)])
}

/** Formats a user as Go's `%v` prints user.DefaultInfo. */
function shownUser({ name, uid = "", groups, extra = {} }: UserInfo): string {
  const extras = Object.entries(extra)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, values]) => `${key}:[${values.join(" ")}]`)
  return `&{${name} ${uid} [${groups.join(" ")}] map[${extras.join(" ")}]}`
}
