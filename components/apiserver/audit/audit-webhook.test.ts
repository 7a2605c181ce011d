import { expect, test } from "bun:test"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { seededRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { silent } from "../../../pkg/log/log.ts"
import { Registry } from "../../../pkg/metrics/registry.ts"
import { startWebhook } from "../webhooks/kubeconfig-webhook.fixtures.ts"
import { AuditNotes, type AuditLevel } from "../call/audit-notes.ts"
import type { AuditBackend } from "./audit-backend.ts"
import { AuditEvent } from "./audit-event.ts"
import { auditMetrics } from "./audit-metrics.ts"
import { startAudited } from "./audit.fixtures.ts"
import { bufferedBackend } from "./buffered-backend.ts"
import { logBackend } from "./log-backend.ts"
import { truncatingBackend } from "./truncating-backend.ts"
import { webhookBackend } from "./webhook-backend.ts"

const RECEIVED = "2026-01-01T00:00:00.000000Z"

function event(auditId: string, level: AuditLevel = "Metadata", requestObject?: string): AuditEvent {
  const notes = new AuditNotes(RECEIVED)
  notes.sender = notes.user = { name: "jane", groups: ["a", "b"] }
  notes.decision = { level, omitStages: new Set(), omitManagedFields: false }
  notes.requestObject = requestObject
  const names = { group: "", version: "v1", resource: "configmaps", subresource: "", namespace: "n", name: "a" }
  return AuditEvent.of({
    request: {
      auditId,
      uri: "/a",
      userAgent: () => 'my "agent"',
      sourceIPs: () => ["192.0.2.1"],
    },
    info: { verb: "get", isResource: true, ...names },
    notes,
    stage: "ResponseComplete",
    at: RECEIVED,
    code: 200,
  })
}
const idsIn = (events: readonly AuditEvent[]): readonly string[] =>
  events.map(({ json }) => (JSON.parse(json) as { readonly auditID: string }).auditID)

/** A backend that holds each batch until it is let go. */
function holding() {
  const batches: (readonly string[])[] = []
  const waiting: (() => void)[] = []
  const backend: AuditBackend = {
    process(events) {
      batches.push(idsIn(events))
      return new Promise((resolve) => waiting.push(() => resolve(true)))
    },
    close: () => undefined,
  }
  return { backend, batches, letGo: () => waiting.splice(0).forEach((go) => go()) }
}

/** Returns a buffered backend before one that holds batches, and its metrics. */
function buffered(options: Partial<Parameters<typeof bufferedBackend>[1]>) {
  const clock = new VirtualClock(0)
  const registry = new Registry()
  const held = holding()
  const backend = bufferedBackend(
    { backend: held.backend, clock, log: silent, metrics: auditMetrics(registry) },
    { bufferSize: 100, mostEvents: 2, mostWaitMs: 30_000, ...options },
  )
  return { ...held, clock, registry, buffer: backend }
}

test("events are sent in full batches, and the rest after the longest wait", async () => {
  const { buffer, batches, clock } = buffered({})
  // when
  for (const id of ["1", "2", "3"]) void buffer.process([event(id)])
  await clock.advance(0)
  // then
  expect(batches).toEqual([["1", "2"]])
  await clock.advance(30_000)
  expect(batches).toEqual([["1", "2"], ["3"]])
})

test("events that find no room while the backend is dead are lost and counted, and later ones are kept", async () => {
  const { buffer, batches, clock, registry, letGo } = buffered({
    bufferSize: 4,
    throttle: { perSecond: 1, burst: 1 },
  })
  // when a burst of ten comes
  for (let i = 0; i < 10; i++) expect(buffer.process([event(`${i}`)])).toBe(true)
  await clock.advance(0)
  // then four were kept, and sent as fast as the throttle allows
  expect(batches).toEqual([["0", "1"]])
  expect(registry.text()).toContain('apiserver_audit_error_total{plugin="buffered"} 6')
  await clock.advance(1000)
  expect(batches).toEqual([
    ["0", "1"],
    ["2", "3"],
  ])
  letGo()
  void buffer.process([event("later")])
  await clock.advance(30_000)
  expect(batches.at(-1)).toEqual(["later"])
})

test("events that are too large together are lost, however few they are", async () => {
  const { buffer, batches, clock, registry } = buffered({})
  const large = JSON.stringify("x".repeat(33 * 1024 * 1024))
  // when
  for (const id of ["1", "2"]) void buffer.process([event(id, "Request", large)])
  await clock.advance(30_000)
  // then
  expect(batches).toEqual([["1"]])
  expect(registry.text()).toContain('apiserver_audit_error_total{plugin="buffered"} 1')
})

test("fifty batches are under way at most, and the next are sent when these are done", async () => {
  const { buffer, batches, clock, letGo } = buffered({ mostEvents: 1 })
  // when
  for (let i = 0; i < 60; i++) void buffer.process([event(`${i}`)])
  await clock.advance(0)
  // then
  expect(batches).toHaveLength(50)
  letGo()
  await clock.advance(30_000)
  expect(batches).toHaveLength(60)
})

test("a buffer that is closed sends what it holds at once, and waits for a dead backend for a few seconds only", async () => {
  const { buffer, batches, clock } = buffered({ throttle: { perSecond: 1, burst: 0 } })
  void buffer.process([event("1")])
  // when
  const closed = Promise.resolve(buffer.close())
  expect(batches).toEqual([["1"]])
  await clock.advance(5000)
  // then
  await closed
})

test("a large event loses its objects, one that is still too large is lost, and large batches are split", () => {
  // given
  const passed: string[][] = []
  const backend: AuditBackend = {
    process(events) {
      passed.push(events.map(({ json }) => json))
      return true
    },
    close: () => undefined,
  }
  const registry = new Registry()
  const size = Buffer.byteLength(event("1").json) + 200
  const truncating = truncatingBackend(
    { backend, metrics: auditMetrics(registry), log: silent },
    { mostEventBytes: size, mostBatchBytes: size },
  )
  // when
  const large = JSON.stringify({ data: "x".repeat(size) })
  void truncating.process([event("1"), event("2", "Request", large), event("x".repeat(size))])
  // then
  expect(passed).toHaveLength(2)
  expect(JSON.parse(passed[1]![0]!)).toMatchObject({ auditID: "2", annotations: { "audit.k8s.io/truncated": "true" } })
  expect(passed[1]![0]).not.toContain("requestObject")
  expect(registry.text()).toContain('apiserver_audit_error_total{plugin="truncate"} 1')
})

test("a line in the legacy format has the fields that upstream's has", () => {
  expect(event("id").legacy).toBe(
    `${RECEIVED} AUDIT: id="id" stage="ResponseComplete" ip="192.0.2.1" method="get" user="jane" ` +
      'groups="\\"a\\",\\"b\\"" as="<self>" asgroups="<lookup>" user-agent="my \\"agent\\"" namespace="n" uri="/a" ' +
      'response="200"',
  )
})

test("the log has lines of the format that was asked for", () => {
  const dir = mkdtempSync(join(tmpdir(), "audit-"))
  const linesIn = (format: "legacy" | "json"): string => {
    const path = join(dir, format)
    const parts = { clock: new VirtualClock(0), log: silent, metrics: auditMetrics(new Registry()) }
    const backend = logBackend({ path, format, mostBytes: 0, mostFiles: 0, mostAgeMs: 0 }, parts)
    void backend.process([event("1"), event("2")])
    void backend.close()
    return readFileSync(path, "utf8")
  }
  expect(linesIn("legacy")).toBe(`${event("1").legacy}\n${event("2").legacy}\n`)
  expect(linesIn("json")).toBe(`${event("1").json}\n${event("2").json}\n`)
  rmSync(dir, { recursive: true })
})

test("of an annotation the first value stays", () => {
  const notes = new AuditNotes(RECEIVED)
  notes.annotate("b", "first")
  notes.annotate("a", "only")
  notes.annotate("b", "second")
  expect(Object.entries(notes.annotations ?? {})).toEqual([
    ["a", "only"],
    ["b", "first"],
  ])
})

test("a webhook gets EventLists with the token of its kubeconfig, again where it has failed", async () => {
  // given a webhook that fails once
  const webhook = await startWebhook((_body, call) => (call === 1 ? { code: 400 } : {}))
  const registry = new Registry()
  const backend = webhookBackend(
    { configFile: webhook.kubeconfig, initialBackoffMs: 1 },
    { clock: realClock, random: seededRandom(1), log: silent, metrics: auditMetrics(registry) },
  )
  // when
  expect(await backend.process([event("1"), event("2")])).toBe(true)
  // then
  expect(webhook.sent).toHaveLength(2)
  expect(webhook.sent[1]).toMatchObject({
    authorization: "Bearer secret-of-the-webhook",
    body: { kind: "EventList", apiVersion: "audit.k8s.io/v1", items: [{ auditID: "1" }, { auditID: "2" }] },
  })
  webhook.stop()
})

test("events that a webhook does not take are lost, and counted", async () => {
  const webhook = await startWebhook(() => ({ code: 500 }))
  const registry = new Registry()
  const backend = webhookBackend(
    { configFile: webhook.kubeconfig, initialBackoffMs: 1 },
    { clock: realClock, random: seededRandom(1), log: silent, metrics: auditMetrics(registry) },
  )
  expect(await backend.process([event("1"), event("2")])).toBe(false)
  expect(registry.text()).toContain('apiserver_audit_error_total{plugin="webhook"} 2')
  webhook.stop()
})

test("a request in mode blocking-strict is refused with 500 if its event cannot be stored", async () => {
  // given a webhook that refuses all
  const webhook = await startWebhook(() => ({ code: 500 }))
  const server = await startAudited({
    policy: "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- {level: Metadata, nonResourceURLs: [/version]}\n",
    webhook: { configFile: webhook.kubeconfig, initialBackoffMs: 1, mode: "blocking-strict" },
  })
  // when
  await server.ask("GET", "/version", {})
  // then
  const lines = await server.end()
  expect(lines.at(-1)).toMatchObject({
    stage: "ResponseComplete",
    responseStatus: { code: 500, message: "failed to store audit event" },
  })
  expect(server.server.metrics.text()).toContain("apiserver_audit_requests_rejected_total 1")
  webhook.stop()
})

test("a webhook that hangs makes no request wait in mode batch", async () => {
  const webhook = await startWebhook(() => ({ hangs: true }))
  const server = await startAudited({
    webhook: {
      configFile: webhook.kubeconfig,
      initialBackoffMs: 1,
      mode: "batch",
      batch: { bufferSize: 5, mostEvents: 1, mostWaitMs: 1 },
    },
  })
  // when
  for (let i = 0; i < 20; i++) await server.ask("GET", "/version", {})
  await webhook.calls(1)
  // then all were answered, and are in the log beside
  expect(server.lines()).toHaveLength(20)
  webhook.stop()
  await server.end()
})
