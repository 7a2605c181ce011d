import type { Clock } from "../../../pkg/clock/clock.ts"
import type { ServerRequest } from "../../../pkg/runtime/http/server-request.ts"
import { requestInfo, type RequestInfo } from "../call/request-info.ts"
import type { BesideApi, BesideNotes } from "../serving/beside.ts"
import type { AuditSink } from "./audit-sink.ts"
import { auditedExchange, type Audited } from "./audited.ts"
import type { AuditNotes } from "../call/audit-notes.ts"

interface AuditedBesideOptions {
  readonly sink: AuditSink
  readonly clock: Pick<Clock, "monotonic">
  readonly nextAuditId: () => string
}

/** Returns what the port serves beside the API, such that its requests have audit events, too. */
export function auditedBeside(beside: BesideApi, { sink: audit, clock, nextAuditId }: AuditedBesideOptions): BesideApi {
  const begun = (req: ServerRequest): { request: Audited; info: RequestInfo; notes: AuditNotes } | undefined => {
    try {
      const header = (name: string) => [req.headers[name]].flat()[0]
      const info = requestInfo(req.method ?? "GET", req.url ?? "/")
      return { request: auditedExchange({ req, auditId: nextAuditId(), header }), info, notes: audit.began() }
    } catch {
      return undefined // a malformed request line, which is refused
    }
  }
  const notesFor = (notes: AuditNotes, upgraded: () => void): BesideNotes => ({
    sender(user) {
      notes.sender = notes.user = user
    },
    annotate: notes.annotate,
    refused(error) {
      notes.status = error.toStatus()
    },
    upgraded,
  })
  return {
    serves: (path, isUpgrade) => beside.serves(path, isUpgrade),
    onRequest(req, res) {
      const one = begun(req)
      if (one === undefined) return beside.onRequest(req, res)
      const began = clock.monotonic()
      const { request, info, notes } = one
      res.once("close", () =>
        audit.ended(request, info, notes, { code: res.statusCode, seconds: (clock.monotonic() - began) / 1000 }),
      )
      const neverUpgraded = () => undefined
      beside.onRequest(req, res, notesFor(notes, neverUpgraded))
    },
    onUpgrade(req, socket, head) {
      const one = begun(req)
      if (one === undefined) return beside.onUpgrade(req, socket, head)
      const { request, info, notes } = one
      let isUpgraded = false
      const upgraded = () => {
        isUpgraded = true
        audit.started(request, info, notes, 101)
      }
      socket.once("close", () => {
        const code = isUpgraded ? 101 : (notes.status?.code ?? 0)
        audit.ended(request, info, notes, { code, seconds: 0 })
      })
      beside.onUpgrade(req, socket, head, notesFor(notes, upgraded))
    },
    stop: () => beside.stop(),
  }
}
