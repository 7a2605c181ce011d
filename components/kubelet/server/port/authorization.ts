import { SubjectAccessReview } from "../../../../pkg/api/authorization/v1/subjectaccessreview.ts"
import type { Client } from "../../../../pkg/client/client.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import { streamTargetOf } from "../../../../pkg/component/kubelet-streams.ts"
import type { KubeletUser } from "./authentication.ts"
import { ExpiringCache } from "./expiring-cache.ts"

/** One right that a request may need: a verb on a subresource of the Node. */
export interface NodeRight {
  /** Empty for methods that no verb stands for, such as HEAD. */
  readonly verb: string
  readonly subresource: string
}

const VERBS: Readonly<Record<string, string>> = {
  GET: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
}

/** Which rights open paths that begin so; `nodes/proxy` opens all others. */
const BY_ROOT: Readonly<Record<string, readonly string[]>> = {
  "/pods": ["pods", "proxy"],
  "/runningpods": ["pods", "proxy"],
  "/healthz": ["healthz", "proxy"],
  "/configz": ["configz", "proxy"],
  "/stats": ["stats"],
  "/metrics": ["metrics"],
  "/logs": ["log"],
  "/checkpoint": ["checkpoint"],
  "/statusz": ["statusz"],
  "/flagz": ["configz"],
}

/**
 * Returns the rights of which each group needs one: `[[a, b], [c]]` is a or b, and c. `path` is still percent-encoded.
 * Differs from upstream: a WebSocket is opened by GET, and upstream lets who may get nodes/proxy run commands in every
 * pod by that; here streams need the right to create too. Source: pkg/kubelet/server/auth.go GetRequestAttributes,
 * KEP-2862.
 */
export function rightsFor(method: string, path: string): readonly (readonly NodeRight[])[] {
  const verb = VERBS[method] ?? ""
  const subresources = BY_ROOT[/^\/[^/]*/.exec(path)?.[0] ?? ""] ?? ["proxy"]
  const wanted = subresources.map((subresource) => ({ verb, subresource }))
  return streamTargetOf(path) === undefined || verb === "create"
    ? [wanted]
    : [wanted, [{ verb: "create", subresource: "proxy" }]]
}

/** How long the API server's answer holds. Source: pkg/kubelet/apis/config/v1beta1/defaults.go Cache…TTL. */
const ALLOWED_MS = 300_000
const DENIED_MS = 30_000
/**
 * Answers at once of each kind, and how long the question may be that one is kept for, in characters. Source: apiserver
 * plugin/pkg/authorizer/webhook/webhook.go.
 */
const MOST_ANSWERS = 1024
const LONGEST_QUESTION = 10_000

/** Asks the API server whether a user has a right on the Node. Source: cmd/kubelet/app/auth.go BuildAuthz. */
export function kubeletAuthorizer({
  client,
  clock,
  nodeName,
}: {
  readonly client: Client
  readonly clock: Clock
  readonly nodeName: string
}): (user: KubeletUser, right: NodeRight) => Promise<boolean> {
  // So that one who asks for all that he may not have pushes nobody else's rights out.
  const [allowed, denied] = [new ExpiringCache<true>(clock, MOST_ANSWERS), new ExpiringCache<true>(clock, MOST_ANSWERS)]
  return async (user, { verb, subresource }) => {
    const key = JSON.stringify([user, verb, subresource])
    if (allowed.get(key) === true) return true
    if (denied.get(key) === true) return false
    const { name, uid, groups, extra } = user
    const { status } = await client.create(SubjectAccessReview, {
      metadata: {},
      spec: {
        user: name,
        uid,
        groups,
        extra,
        resourceAttributes: { verb, version: "v1", resource: "nodes", subresource, name: nodeName },
      },
    })
    if (key.length <= LONGEST_QUESTION)
      (status.allowed ? allowed : denied).set(key, true, status.allowed ? ALLOWED_MS : DENIED_MS)
    return status.allowed
  }
}
