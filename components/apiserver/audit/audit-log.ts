import { appendFileSync } from "node:fs"
import { type Clock, microTimestamp } from "../../../pkg/clock/clock.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { remoteAddress } from "../../../pkg/runtime/listen.ts"
import type { Exchange } from "../http/exchange.ts"
import type { RequestInfo } from "../http/request-info.ts"
import type { UserInfo } from "../request.ts"

/** Where requests are written down: who asked for what, and how it went. */
export interface AuditSink {
  began(exchange: Exchange, info: RequestInfo, user: UserInfo, sender: UserInfo): void
  ended(exchange: Exchange, info: RequestInfo, code: number): void
  /** Writes what is still held back. */
  close(): void
}

/** Lines are written together, at most this much later. */
const FLUSH_MS = 100

/**
 * An audit log as `--audit-log-path` asks for: one JSON Event of audit.k8s.io/v1 a line, at the level Metadata, when the request has been answered.
 * Source: apiserver pkg/apis/audit/v1/types.go.
 */
export function createAuditLog(path: string, { clock, log }: { readonly clock: Clock; readonly log: Logger }): AuditSink {
  const open = new WeakMap<Exchange, { readonly received: string; readonly user: UserInfo; readonly sender: UserInfo }>()
  let lines: string[] = []
  const flush = () => {
    if (lines.length === 0) return
    const text = lines.join("")
    lines = []
    try {
      appendFileSync(path, text, { mode: 0o600 })
    } catch (err) {
      // A full disk must not end the server; what could not be written down is said to be missing.
      log.error("Could not write the audit log", { path, lost: text.split("\n").length - 1, error: err })
    }
  }
  return {
    began(exchange, _info, user, sender) {
      exchange.annotations = {}
      open.set(exchange, { received: microTimestamp(clock), user, sender })
    },
    ended(exchange, info, code) {
      const began = open.get(exchange)
      if (began === undefined) return
      const { req, auditId, annotations = {} } = exchange
      const { received, user, sender } = began
      if (lines.length === 0) clock.setTimeout(flush, FLUSH_MS)
      const { group, version, resource, subresource, namespace, name } = info
      lines.push(JSON.stringify({
        kind: "Event", apiVersion: "audit.k8s.io/v1", level: "Metadata", auditID: auditId, stage: "ResponseComplete", requestURI: req.url, verb: info.verb,
        user: plain(sender), ...(user === sender ? {} : { impersonatedUser: plain(user) }), sourceIPs: [remoteAddress(req) ?? ""], userAgent: exchange.header("user-agent"),
        ...(info.isResource ? { objectRef: { resource, namespace: namespace || undefined, name: name || undefined, apiGroup: group || undefined, apiVersion: version, subresource: subresource || undefined } } : {}),
        responseStatus: { metadata: {}, code }, requestReceivedTimestamp: received, stageTimestamp: microTimestamp(clock),
        ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      }) + "\n")
    },
    close: flush,
  }
}

const plain = ({ name, uid, groups, extra }: UserInfo) => ({ username: name, uid, groups, extra })
