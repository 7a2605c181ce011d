import { expect, test } from "bun:test"
import { Duplex } from "node:stream"
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import type { ServerRequest } from "../../../pkg/runtime/http/server-request.ts"
import type { BesideApi, BesideNotes } from "../serving/beside.ts"
import type { AuditSink } from "./audit-sink.ts"
import { AuditNotes } from "../call/audit-notes.ts"
import { auditedBeside } from "./audited-beside.ts"

/** Opens a tunnel to a part that answers as `answer` does; returns what the audit log is told, and the connection. */
function openTunnel(answer: (notes: BesideNotes) => void) {
  const told: string[] = []
  const audit: AuditSink = {
    began: () => new AuditNotes("2026-01-01T00:00:00.000000Z"),
    received: () => undefined,
    started: ({ auditId }, { path }, { sender }, code) =>
      void told.push(`${auditId} ${path} of ${sender?.name} started: ${code}`),
    ended: ({ auditId }, { path }, { sender }, { code, seconds }) =>
      void told.push(`${auditId} ${path} of ${sender?.name} ended: ${code}, ${seconds} s`),
    close: () => Promise.resolve(),
  }
  const beside: BesideApi = {
    serves: () => true,
    onRequest: () => undefined,
    onUpgrade: (_req, _socket, _head, notes) => answer(notes!),
    stop: () => undefined,
  }
  const socket = new Duplex({ read: () => undefined })
  const req = { method: "GET", url: "/tunnel", headers: {} } as unknown as ServerRequest
  const audited = auditedBeside(beside, { sink: audit, clock: new VirtualClock(0), nextAuditId: () => "id" })
  audited.onUpgrade(req, socket, Buffer.alloc(0))
  return {
    told,
    end: () => new Promise<void>((resolve) => void socket.once("close", () => resolve()).destroy()),
  }
}

test("a tunnel has an audit event when it begins, and another when it ends", async () => {
  // when
  const { told, end } = openTunnel((notes) => {
    notes.sender({ name: "system:node:n", groups: [] })
    notes.upgraded()
  })
  // then
  expect(told).toEqual(["id /tunnel of system:node:n started: 101"])
  await end()
  expect(told.slice(1)).toEqual(["id /tunnel of system:node:n ended: 101, 0 s"])
})

test("a tunnel that is refused has one audit event, with the code of the refusal", async () => {
  const { told, end } = openTunnel((notes) => notes.refused(new ApiError("Unauthorized", "who are you?")))
  await end()
  expect(told).toEqual(["id /tunnel of undefined ended: 401, 0 s"])
})
