import { parseTraceparent } from "../../../pkg/tracing/traceparent.ts"
import type { TraceSpan, Tracing } from "../../../pkg/tracing/tracing.ts"
import type { Exchange } from "../call/exchange.ts"
import type { RequestInfo } from "../call/request-info.ts"
import type { UserInfo } from "../call/request.ts"
import { spanName } from "./span-name.ts"

/**
 * Groups whose `traceparent` is followed, and so decides whether the request is recorded. Of all others it becomes a
 * link: nobody without these rights can make the server record more than its sampling rate, or put spans into the trace
 * of another. Source: apiserver pkg/endpoints/filters/traces.go notSystemPrivilegedGroup.
 */
const TRUSTED: readonly string[] = ["system:masters", "system:monitoring"]

/**
 * Starts the span of an HTTP request, as of its first byte. `isKnown`: a resource of this name is served; the name of
 * others would come from clients, and does not become that of a span.
 *
 * Differs from upstream: the query is left out, since it has the commands of exec and what a proxy passes on.
 */
export function startRequestSpan(
  tracing: Tracing,
  { req, auditId, began }: Pick<Exchange, "req" | "auditId" | "began">,
  info: RequestInfo,
  sender: UserInfo,
  isKnown: boolean,
): TraceSpan {
  const method = req.method ?? "GET"
  const context = parseTraceparent(req.headers["traceparent"])
  const isTrusted = sender.groups.some((group) => TRUSTED.includes(group))
  return tracing.root(isKnown ? spanName(method, info) : method, {
    kind: "server",
    began,
    ...(context === undefined ? {} : { remote: { context, isTrusted } }),
    attributes: {
      "http.request.method": method,
      "url.scheme": "https",
      "url.path": info.path,
      "http.target": info.path,
      "network.protocol.version": req.httpVersion,
      "user_agent.original": req.headers["user-agent"],
      "audit-id": auditId,
    },
  })
}

/** Ends the span of a request with the code of its answer. Only errors of the server are failures of its span. */
export function endRequestSpan(span: TraceSpan, code: number): void {
  span.set({ "http.response.status_code": code })
  if (code >= 500) span.fail(`answered with ${code}`)
  span.end()
}
