import type { AuthorizationDecision } from "../request.ts"

/**
 * Notes in the audit event whether the request was allowed, and why: through which binding, for one. The reason is put into words for that.
 * Source: apiserver pkg/endpoints/filters/authorization.go.
 */
export function noteDecision(
  annotate: ((key: string, value: string) => void) | undefined,
  decision: AuthorizationDecision,
): void {
  if (annotate === undefined) return
  annotate("authorization.k8s.io/decision", decision.allowed ? "allow" : "forbid")
  annotate("authorization.k8s.io/reason", decision.reason)
}
