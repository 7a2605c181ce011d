import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import { ServiceAccount } from "../../../pkg/api/core/v1/serviceaccount.ts"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import type { ObjectRef, ServiceAccountClaims } from "../../../pkg/jwt/claims.ts"
import type { TokenVerifier } from "../../../pkg/jwt/service-account.ts"
import type { ObjectReader } from "../cacher/objects.ts"
import type { UserInfo } from "../call/request.ts"
import { AUTHENTICATED, type TokenAuthenticator, type TokenUser } from "./authenticator.ts"

/**
 * Authenticates service account tokens. A token with a valid signature counts only while its service account, and the
 * pod, secret or node it is bound to, exist with the same uid. Source: pkg/serviceaccount/claims.go.
 */
export function createServiceAccountTokens({
  verifier,
  objects,
  now,
}: {
  verifier: TokenVerifier
  objects: ObjectReader
  now: () => number
}): TokenAuthenticator {
  return {
    authenticate(token, audiences) {
      const verdict = verifier.verify(token, audiences)
      if (!verdict.ok)
        return verdict.reason === "malformed" || verdict.reason === "unknown issuer"
          ? undefined
          : { error: verdict.message }
      const error = unbound(verdict.claims, objects, now())
      if (error !== undefined) return { error }
      return { user: userOf(verdict.claims), audiences: verdict.audiences, ...annotationsOf(verdict.claims, now()) }
    },
  }
}

/** Audit annotations of a token that its client should have replaced by a newer one, or that has no audiences. */
function annotationsOf(
  { subject, audiences, warnAfter }: ServiceAccountClaims,
  now: number,
): Pick<TokenUser, "annotations"> {
  const stale = warnAfter === undefined ? 0 : Math.floor(now / 1000) - warnAfter
  if (stale <= 0 && audiences.length > 0) return {}
  return {
    annotations: {
      ...(stale <= 0
        ? {}
        : {
            "authentication.k8s.io/stale-token": `subject: ${subject}, seconds after warning threshold: ${stale}`,
          }),
      ...(audiences.length > 0 ? {} : { "authentication.k8s.io/legacy-token": subject }),
    },
  }
}

/**
 * A token of an object stays valid for this time after the object's deletion began. Source: claims.go, the leeway of 60
 * seconds.
 */
const DELETION_LEEWAY_MS = 60_000

function unbound(
  { namespace, serviceAccount, pod, secret, node }: ServiceAccountClaims,
  objects: ObjectReader,
  now: number,
): string | undefined {
  const problem = (what: string, object: KubeObject | undefined, ref: ObjectRef): string | undefined => {
    if (object === undefined) return `${what} "${ref.name}" not found`
    const { uid, deletionTimestamp } = object.metadata
    if (uid !== ref.uid)
      return `The ${what} UID (${uid}) does not match the ${what} reference in the token (${ref.uid})`
    if (deletionTimestamp !== undefined && Date.parse(deletionTimestamp) + DELETION_LEEWAY_MS < now)
      return `${what} "${ref.name}" has been deleted`
    return undefined
  }
  return (
    problem("service account", objects.get(ServiceAccount, { namespace, name: serviceAccount.name }), serviceAccount) ??
    (secret === undefined
      ? undefined
      : problem("secret", objects.get(Secret, { namespace, name: secret.name }), secret)) ??
    (pod === undefined
      ? node === undefined
        ? undefined
        : problem("node", objects.get(Node, { name: node.name }), node)
      : problem("pod", objects.get(Pod, { namespace, name: pod.name }), pod))
  )
}

const users = new WeakMap<ServiceAccountClaims, UserInfo>()

/**
 * Returns the user of a token. The verifier returns the same claims for the same token, so the user is cached by
 * claims.
 */
function userOf(claims: ServiceAccountClaims): UserInfo {
  let user = users.get(claims)
  if (user !== undefined) return user
  const { subject, serviceAccount, namespace, id, pod, node } = claims
  const extra: Record<string, readonly string[]> = {}
  if (id !== undefined) extra["authentication.kubernetes.io/credential-id"] = [`JTI=${id}`]
  if (pod !== undefined) {
    extra["authentication.kubernetes.io/pod-name"] = [pod.name]
    extra["authentication.kubernetes.io/pod-uid"] = [pod.uid]
  }
  if (node !== undefined) {
    extra["authentication.kubernetes.io/node-name"] = [node.name]
    // The token of a pod bound to a node that did not exist yet has only the name of the node.
    if (node.uid !== "") extra["authentication.kubernetes.io/node-uid"] = [node.uid]
  }
  user = {
    name: subject,
    uid: serviceAccount.uid,
    groups: serviceAccountGroups(namespace),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  }
  users.set(claims, user)
  return user
}

export const serviceAccountGroups = (namespace: string): readonly string[] => [
  "system:serviceaccounts",
  `system:serviceaccounts:${namespace}`,
  AUTHENTICATED,
]
