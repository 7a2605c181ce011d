import { Node } from "../../../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../../../pkg/api/core/v1/pod/pod.ts"
import { Secret } from "../../../../../pkg/api/core/v1/secret/secret.ts"
import { ServiceAccount } from "../../../../../pkg/api/core/v1/serviceaccount.ts"
import { TokenRequest } from "../../../../../pkg/api/authentication/v1/tokenrequest.ts"
import { decodeSent } from "../../decode.ts"
import {
  badRequest,
  conflict,
  invalid,
  methodNotSupported,
  notFound,
  type GroupResource,
} from "../../../../../pkg/apimachinery/errors.ts"
import { invalidValue } from "../../../../../pkg/apimachinery/validation/field-errors.ts"
import type { KubeObject, Resource } from "../../../../../pkg/apimachinery/resource.ts"
import { formatTime } from "../../../../../pkg/apimachinery/scalars/time.ts"
import { timestamp } from "../../../../../pkg/clock/clock.ts"
import type { ObjectRef } from "../../../../../pkg/jwt/claims.ts"
import type { IssuedToken, TokenIssuer, TokenRequest as Wanted } from "../../../../../pkg/jwt/service-account.ts"
import type { ApiRequest, ApiResult } from "../../../call/request.ts"
import { admitBody } from "../../admission-attributes.ts"
import type { KindHooks, RegistryContext } from "../../context.ts"
import { recordCreate } from "../../managed-fields/managed-fields.ts"

/** How long tokens live. */
export interface TokenLife {
  /** Longer lives that are asked for are shortened to this many seconds. */
  readonly longestSeconds?: number | undefined
  /** Whether tokens in pods live for a year; true unless given. */
  readonly extendsTokens?: boolean | undefined
}

export interface TokenOptions extends TokenLife {
  readonly issuer: TokenIssuer
  /** The audiences of a token whose request names none. */
  readonly audiences: readonly string[]
}

/**
 * A request for exactly this many seconds is for a token in a pod's volume. Such a token lives longer than requested,
 * so that old clients need not reread it. Source: pkg/serviceaccount/claims.go.
 */
const INJECTED_SECONDS = 3607
const EXTENDED_SECONDS = 365 * 24 * 3600

export const serviceAccountHooks = (options: TokenOptions): KindHooks => ({
  subresources: {
    token: (context, request) => {
      if (request.verb !== "create") throw methodNotSupported(request.resource, request.verb)
      return issue(context, request, options)
    },
  },
})

/** POST serviceaccounts/token. Source: pkg/registry/core/serviceaccount/storage/token.go. */
async function issue(
  context: RegistryContext,
  request: ApiRequest,
  { issuer, audiences, longestSeconds, extendsTokens = true }: TokenOptions,
): Promise<ApiResult> {
  const { objects, clock } = context
  const { namespace = "", name = "" } = request
  const sent = decodeSent(TokenRequest, request.body, request)
  const account = objects.get(ServiceAccount, { namespace, name })
  if (account === undefined) throw notFound(request.resource, name)
  if (sent.metadata.namespace && sent.metadata.namespace !== namespace)
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request")
  if (sent.metadata.name && sent.metadata.name !== name)
    throw invalid(TokenRequest, name, [
      invalidValue("metadata.name", sent.metadata.name, "must match the service account name if specified"),
    ])
  const { uid = "" } = account.metadata
  const { uid: wantedUid = "" } = sent.metadata
  if (wantedUid !== "" && wantedUid !== uid)
    throw conflict(
      asNamed(TokenRequest),
      name,
      `the UID in the token request (${wantedUid}) does not match the UID of the service account (${uid})`,
    )
  const causes = TokenRequest.validate?.(sent) ?? []
  if (causes.length > 0) throw invalid(TokenRequest, "", causes)
  const recorded = await recordCreate(context, { ...request, resource: TokenRequest as Resource }, sent)
  const { managedFields } = recorded.metadata
  const object = await admitBody(context, request, sent)
  const { boundObjectRef, expirationSeconds: asked } = object.spec
  const expirationSeconds = longestSeconds === undefined ? asked : Math.min(asked, longestSeconds)
  if (expirationSeconds < asked)
    request.warn(`requested expiration of ${asked} seconds shortened to ${expirationSeconds} seconds`)
  const wanted = object.spec.audiences.length === 0 ? audiences : object.spec.audiences
  const extended =
    extendsTokens &&
    expirationSeconds === INJECTED_SECONDS &&
    boundObjectRef?.kind === "Pod" &&
    wanted.every((audience) => audiences.includes(audience))
  const claims: Wanted = {
    namespace,
    serviceAccount: { name, uid },
    audiences: wanted,
    expirationSeconds: extended ? EXTENDED_SECONDS : expirationSeconds,
    ...(extended ? { warnAfterSeconds: expirationSeconds } : {}),
    ...bindings(),
  }
  // A dry run gets a token too, as upstream.
  const metadata = { name, namespace, uid, creationTimestamp: timestamp(clock), managedFields }
  const issued = issuer.issue(claims)
  request.annotate?.("authentication.kubernetes.io/issued-credential-id", `JTI=${issued.id}`)
  // The response shows the requested time, so that clients refresh the token in time.
  const expirationTimestamp = formatTime(extended ? clock.now() + expirationSeconds * 1000 : issued.expiresAt)
  return {
    kind: "object",
    code: 201,
    object: {
      ...object,
      metadata,
      spec: { ...object.spec, audiences: wanted, expirationSeconds },
      status: statusWith(issued, expirationTimestamp),
    } as KubeObject,
  }

  function bindings(): Partial<Wanted> {
    if (boundObjectRef === undefined || boundObjectRef === null) return {}
    const { apiVersion = "", kind = "", name: bound = "", uid } = boundObjectRef
    switch (kind) {
      case "Pod": {
        const pod = bindTo(Pod, { namespace, name: bound }, uid)
        const { spec } = objects.get(Pod, { namespace, name: bound })!
        if (spec.serviceAccountName !== name)
          throw badRequest(
            `cannot bind token for serviceaccount ${JSON.stringify(name)} to pod running with different serviceaccount name.`,
          )
        const on =
          spec.nodeName === undefined || spec.nodeName === "" ? undefined : objects.get(Node, { name: spec.nodeName })
        return {
          pod,
          ...(spec.nodeName === undefined || spec.nodeName === ""
            ? {}
            : { node: { name: spec.nodeName, ...(on === undefined ? {} : { uid: on.metadata.uid! }) } }),
        }
      }
      case "Secret":
        return { secret: bindTo(Secret, { namespace, name: bound }, uid) }
      case "Node":
        return { node: bindTo(Node, { name: bound }, uid) }
      default:
        throw badRequest(`cannot bind token to object of type ${goVersion(apiVersion)}, Kind=${kind}`)
    }
  }

  function bindTo<T extends KubeObject>(
    resource: Resource<T>,
    ref: { readonly namespace?: string; readonly name: string },
    uid: string | undefined,
  ): ObjectRef {
    if (ref.name === "") throw badRequest("Name parameter required.")
    const found = objects.get(resource, ref)
    if (found === undefined) throw notFound(resource, ref.name)
    if (uid !== undefined && uid !== "" && uid !== found.metadata.uid)
      throw conflict(
        asNamed(resource),
        ref.name,
        `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
      )
    return { name: ref.name, uid: found.metadata.uid! }
  }
}

/** Conflicts about a token name kinds instead of resources. */
const asNamed = ({ group, kind }: Pick<Resource, "group" | "kind">): GroupResource => ({ group, plural: kind })

/** The token is signed when it is first read. */
const statusWith = (issued: IssuedToken, expirationTimestamp: string): TokenRequest["status"] => ({
  get token() {
    return issued.token
  },
  expirationTimestamp,
})

/** Go's form of a group and version. Source: apimachinery pkg/runtime/schema GroupVersionKind.String. */
const goVersion = (apiVersion: string): string => (apiVersion.includes("/") ? apiVersion : `/${apiVersion}`)
