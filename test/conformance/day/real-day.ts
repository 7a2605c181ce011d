import { readFileSync } from "node:fs"
import type { ClientConfig } from "../../../pkg/client/kubeconfig.ts"
import { connect, runOperator } from "../../../pkg/operator/operator.ts"
import { runDay, witnessOwners } from "./day.ts"
import { witnessScheduling } from "./scheduling.ts"
import type { Step } from "./step.ts"
import { agentLineOf, isComponent, lineOf, Tally, WRITES, type DayRecord, type Written } from "./lines.ts"
import { machines } from "./machines.ts"

export interface RealServer {
  readonly config: ClientConfig
  readonly auditLog: string
  /** The content types of patches, by the audit ID. */
  readonly contentTypes: ReadonlyMap<string, string>
}

/** What is seen of a real server: also what its components read. */
export interface RealDayRecord extends DayRecord {
  /** What components have read, all day. */
  readonly reads: Readonly<Record<string, number>>
}

/** Runs the steps of a day on a server, in real time. */
export async function realDay(
  { config, auditLog, contentTypes }: RealServer,
  steps: readonly Step[],
): Promise<RealDayRecord> {
  const begins: number[] = []
  const ending = new AbortController()
  using users = connect({ kubeconfig: config, userAgent: "users/1" })
  using played = connect({ kubeconfig: config, userAgent: "machines/1" })
  const owners = witnessOwners(users)
  const told = witnessScheduling(users)
  const playing = runOperator(played, machines(), { signal: ending.signal })
  await runDay(
    steps,
    users.client,
    (seconds) => Bun.sleep(seconds * 1000),
    (step, title) => {
      begins.push(Date.now())
      console.error(`${new Date().toISOString()} ${step} ${title}`)
    },
  )
  ending.abort()
  await playing
  const stepAt = (time: number): number => begins.filter((begin) => begin <= time).length
  return { ...readLog(auditLog, contentTypes, stepAt), owners: [...owners].toSorted(), told: [...told].toSorted() }
}

interface AuditEvent {
  readonly auditID: string
  readonly stage: string
  readonly verb: string
  readonly requestURI: string
  readonly userAgent?: string
  readonly user: { readonly username: string }
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string; readonly apiGroup?: string }
  readonly responseStatus?: { readonly code?: number }
  readonly requestReceivedTimestamp: string
}

const PATCHES: Readonly<Record<string, string>> = {
  "application/strategic-merge-patch+json": "strategic",
  "application/merge-patch+json": "merge",
  "application/json-patch+json": "json",
  "application/apply-patch+yaml": "apply",
  "application/apply-patch+cbor": "apply",
}

function readLog(
  path: string,
  contentTypes: ReadonlyMap<string, string>,
  stepAt: (time: number) => number,
): Omit<RealDayRecord, "owners" | "told"> {
  const [writes, refused] = [new Tally(), new Tally()]
  const agents = new Set<string>()
  const reads = new Map<string, number>()
  for (const line of readFileSync(path, "utf8").trim().split("\n")) {
    const event = JSON.parse(line) as AuditEvent
    const { user, verb, stage, objectRef, requestURI, responseStatus } = event
    if (!isComponent(user.username) || stage === "ResponseStarted" || objectRef?.resource === undefined) continue
    const query = new URL(requestURI, "http://server").searchParams
    if (query.has("dryRun")) continue
    const type = contentTypes.get(event.auditID)
    const written: Written = {
      user: user.username,
      userAgent: event.userAgent ?? "",
      fieldManager: query.get("fieldManager") ?? undefined,
      verb: verb === "apply" ? "patch" : verb,
      group: objectRef.apiGroup ?? "",
      resource: objectRef.resource,
      subresource: objectRef.subresource,
      patch: verb !== "patch" && verb !== "apply" ? undefined : (PATCHES[type ?? ""] ?? type ?? "unknown"),
    }
    agents.add(agentLineOf(written))
    const step = stepAt(Date.parse(event.requestReceivedTimestamp))
    if (!WRITES.has(written.verb)) {
      const read = lineOf(written)
      reads.set(read, (reads.get(read) ?? 0) + 1)
    } else ((responseStatus?.code ?? 0) < 300 ? writes : refused).add(lineOf(written), step)
  }
  return {
    writes: writes.result(),
    refused: refused.result(),
    agents: [...agents].toSorted(),
    reads: Object.fromEntries([...reads].toSorted(([a], [b]) => (a < b ? -1 : 1))),
  }
}
