import { UpgradeAnswer } from "../../../pkg/runtime/http/upgrade-answer.ts"
import type { Exchange } from "../call/exchange.ts"
import type { RequestInfo } from "../call/request-info.ts"
import type { AuditSink } from "./audit-sink.ts"
import { auditedExchange } from "./audited.ts"

/** Tells the audit log of a watch or a stream when the head of its response is sent: its end may never be seen. */
export function auditStart(audit: AuditSink, exchange: Exchange, info: RequestInfo): void {
  const { res, notes } = exchange
  if (notes === undefined) return
  const started = (code: number) => {
    if (notes.sender !== undefined) audit.started(auditedExchange(exchange), info, notes, code)
  }
  if (res instanceof UpgradeAnswer) {
    res.onHead = started
    return
  }
  const writeHead = res.writeHead.bind(res)
  res.writeHead = (status, headers) => {
    const sent = writeHead(status, headers)
    started(status)
    return sent
  }
}
