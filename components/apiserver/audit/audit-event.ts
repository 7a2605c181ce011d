import type { Status } from "../../../pkg/apimachinery/errors.ts"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import { goQuoted } from "../../../pkg/apimachinery/go/go-text.ts"
import { authorizedName } from "../authorization/authorize.ts"
import type { Query } from "../call/query.ts"
import type { RequestInfo } from "../call/request-info.ts"
import type { AuditNotes, AuditLevel, AuditStage } from "../call/audit-notes.ts"
import type { UserInfo } from "../call/request.ts"
import type { Audited } from "./audited.ts"

/** The parts of a request line that events show. */
export type AuditedInfo = Pick<
  RequestInfo,
  "verb" | "isResource" | "group" | "version" | "resource" | "subresource" | "namespace" | "name"
> & {
  /** The query of the request line; undefined where the name is already the one that a field selector selects. */
  readonly query?: Pick<Query, "get">
}

/** What makes an event, beside the notes of its request. */
export interface EventParts {
  readonly request: Audited
  readonly info: AuditedInfo
  readonly notes: AuditNotes
  readonly stage: AuditStage
  /** When the stage was reached, as a metav1.MicroTime. */
  readonly at: string
  /** The HTTP code; undefined before the response begins. */
  readonly code: number | undefined
}

/** What says that an event lacks its objects. Source: apiserver plugin/pkg/audit/truncate. */
const TRUNCATED = "audit.k8s.io/truncated"

/**
 * One Event of audit.k8s.io/v1, as text: its fields are read when it is made, since a request goes on after that.
 * Source: apiserver pkg/apis/audit/v1/types.go, pkg/audit/request.go.
 */
export class AuditEvent {
  readonly level: AuditLevel
  /** The event as one line of JSON, without its end. */
  readonly json: string
  readonly #legacy: () => string
  readonly #shortened: (() => AuditEvent) | undefined

  private constructor(level: AuditLevel, json: string, legacy: () => string, shortened?: () => AuditEvent) {
    this.level = level
    this.json = json
    this.#legacy = legacy
    this.#shortened = shortened
  }

  static of({ request, info, notes, stage, at, code }: EventParts): AuditEvent {
    const { sender, user, constraint, status, annotations, decision, received, requestObject, responseObject } = notes
    const level = decision?.level ?? "Metadata"
    const impersonated = user === undefined || user === sender ? undefined : plain(user)
    const sourceIPs = request.sourceIPs()
    const userAgent = bounded(request.userAgent())
    const head = {
      kind: "Event",
      apiVersion: "audit.k8s.io/v1",
      level,
      auditID: request.auditId,
      stage,
      requestURI: request.uri,
      verb: info.verb,
      user: sender === undefined ? {} : plain(sender),
      impersonatedUser: impersonated,
      sourceIPs,
      userAgent,
      authenticationMetadata: constraint === undefined ? undefined : { impersonationConstraint: constraint },
      objectRef: info.isResource ? objectRefOf(info, notes.sent) : undefined,
      responseStatus: code === undefined ? undefined : responseStatusOf(notes, code),
    }
    const times = { requestReceivedTimestamp: received, stageTimestamp: at }
    const legacy = () =>
      legacyLine({ received, request, stage, info, sender, impersonated, userAgent, sourceIPs, code, status })
    const objects =
      (requestObject === undefined ? "" : `,"requestObject":${requestObject}`) +
      (responseObject === undefined ? "" : `,"responseObject":${responseObject}`)
    const json = (more: string, notes?: Readonly<Record<string, string>>) =>
      `${JSON.stringify(head).slice(0, -1)}${more},${JSON.stringify({ ...times, annotations: notes }).slice(1)}`
    const shortened = () => new AuditEvent(level, json("", { ...annotations, [TRUNCATED]: "true" }), legacy)
    const hasObjects = level === "Request" || level === "RequestResponse"
    return new AuditEvent(level, json(objects, annotations), legacy, hasObjects ? shortened : undefined)
  }

  /** The event as a line of text with less in it. Source: apiserver pkg/audit/format.go. */
  get legacy(): string {
    return this.#legacy()
  }

  /** Returns the event without its objects; itself if its level has none. */
  withoutObjects(): AuditEvent {
    return this.#shortened?.() ?? this
  }
}

/**
 * Returns the object that a request is about. What the path leaves open is taken from the object in the body. Source:
 * apiserver pkg/audit/request.go LogRequestObject.
 */
function objectRefOf(info: AuditedInfo, sent: KubeObject | undefined) {
  const { group, version, resource, subresource, namespace } = info
  const metadata = sent?.metadata
  return {
    resource,
    namespace: text(namespace) ?? text(metadata?.namespace),
    name: text(auditedName(info)) ?? text(metadata?.name),
    uid: text(metadata?.uid),
    apiGroup: text(group),
    apiVersion: version,
    resourceVersion: text(metadata?.resourceVersion),
    subresource: text(subresource),
  }
}
const text = (value: string | undefined): string | undefined => (value === "" ? undefined : value)

/** The name in the path, or the one that the field selector of a list or a watch selects. */
export const auditedName = ({ verb, name, query }: AuditedInfo): string =>
  authorizedName(verb, name, query?.get("fieldSelector")) ?? ""

const LONGEST_USER_AGENT = 1024
const bounded = (agent: string | undefined): string | undefined =>
  agent === undefined || agent.length <= LONGEST_USER_AGENT
    ? agent
    : `${agent.slice(0, LONGEST_USER_AGENT)}...TRUNCATED`

function responseStatusOf({ status, panic }: AuditNotes, code: number) {
  if (panic !== undefined)
    return { metadata: {}, status: "Failure", message: panic, reason: "InternalError", code: 500 }
  return {
    metadata: {},
    ...(status && { status: status.status, message: status.message, reason: status.reason, details: status.details }),
    code,
  }
}

const plain = ({ name, uid, groups, extra }: UserInfo) => ({ username: text(name), uid, groups, extra })

interface LegacyParts {
  readonly received: string
  readonly request: Audited
  readonly stage: AuditStage
  readonly info: AuditedInfo
  readonly sender: UserInfo | undefined
  readonly impersonated: ReturnType<typeof plain> | undefined
  readonly userAgent: string | undefined
  readonly sourceIPs: readonly string[]
  readonly code: number | undefined
}

function legacyLine(parts: LegacyParts & { readonly status: Status | undefined }): string {
  const { received, request, stage, info, sender, impersonated, userAgent = "", sourceIPs, code } = parts
  const groupsOf = (groups: readonly string[] | undefined, none: string) =>
    groups === undefined || groups.length === 0 ? none : groups.map(goQuoted).join(",")
  const fields: readonly (readonly [string, string])[] = [
    ["id", request.auditId],
    ["stage", stage],
    ["ip", sourceIPs[0] ?? "<unknown>"],
    ["method", info.verb],
    ["user", sender?.name ?? "<none>"],
    ["groups", groupsOf(sender?.groups, "<none>")],
    ["as", impersonated?.username ?? "<self>"],
    ["asgroups", groupsOf(impersonated?.groups, "<lookup>")],
    ["user-agent", userAgent],
    ["namespace", info.namespace === "" ? "<none>" : info.namespace],
    ["uri", request.uri],
  ]
  const shown = fields.map(([name, value]) => `${name}=${goQuoted(value)}`).join(" ")
  return `${received} AUDIT: ${shown} response="${code ?? "<deferred>"}"`
}
