import type { Status } from "../../../pkg/apimachinery/errors.ts"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import type { Annotate } from "./annotate.ts"
import type { UserInfo } from "./request.ts"

/** How much an audit event shows, from nothing to all. Source: apiserver pkg/apis/audit/types.go. */
export const AUDIT_LEVELS = ["None", "Metadata", "Request", "RequestResponse"] as const
export type AuditLevel = (typeof AUDIT_LEVELS)[number]

/** When an event is made. A request has one of each stage that it passes and that is not omitted. */
export const AUDIT_STAGES = ["RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"] as const
export type AuditStage = (typeof AUDIT_STAGES)[number]

/** What the policy says about one request. */
export interface AuditDecision {
  readonly level: AuditLevel
  readonly omitStages: ReadonlySet<AuditStage>
  /** Whether the objects in events lack their managedFields. */
  readonly omitManagedFields: boolean
}

/** What the stages of a request note for its audit events. */
export class AuditNotes {
  /** When the request was received, as a metav1.MicroTime. */
  readonly received: string
  /** Who sent the request; undefined until the sender is authenticated. */
  sender: UserInfo | undefined
  /** Whose rights the request has: another user than the sender if the sender impersonates. */
  user: UserInfo | undefined
  /** The verb by which the sender may impersonate; undefined where that is the unconstrained `impersonate`. */
  constraint: string | undefined
  /** What the policy says; undefined until the sender is known, or the request has failed before. */
  decision: AuditDecision | undefined
  /** The object of the body; undefined until it is decoded, and where there is none. */
  sent: KubeObject | undefined
  /** The Status sent to the client: why the request failed, or that a deletion succeeded. */
  status: Status | undefined
  /** What a failure of the server's own code said. */
  panic: string | undefined
  /** The object of the request as JSON; undefined below level Request. */
  requestObject: string | undefined
  /** The object of the response as JSON; undefined below level RequestResponse. */
  responseObject: string | undefined
  readonly #annotations = new Map<string, string>()

  constructor(received: string) {
    this.received = received
  }

  /** Whether events of the request show the object that was sent. */
  get showsRequest(): boolean {
    const level = this.decision?.level
    return level === "Request" || level === "RequestResponse"
  }

  /** Whether events of the request show the object of the response. */
  get showsResponse(): boolean {
    return this.decision?.level === "RequestResponse"
  }

  /** Notes the object of the request as it was decoded, with its defaults. */
  readonly requested = (object: KubeObject): void => {
    this.sent = object
    if (!this.showsRequest) return
    this.requestObject = this.decision?.omitManagedFields === true ? withoutManagedFields(object) : jsonOf(object)
  }

  /** Notes a patch, or the options of a deletion. */
  readonly requestedAs = (value: unknown): void => {
    this.requestObject = jsonOf(value)
  }

  /** Adds an annotation. The first value of a key stays, as upstream. */
  readonly annotate: Annotate = (key, value, least) => {
    if (least === "Request" && !this.showsRequest) return
    if (!this.#annotations.has(key)) this.#annotations.set(key, value)
  }

  /** The annotations in the order of their keys; undefined when there are none. */
  get annotations(): Readonly<Record<string, string>> | undefined {
    if (this.#annotations.size === 0) return undefined
    return Object.fromEntries([...this.#annotations].sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}

const jsonOf = (value: unknown): string => JSON.stringify(value)

const withoutManagedFields = ({ metadata: { managedFields: _, ...metadata }, ...rest }: KubeObject): string =>
  jsonOf({ ...rest, metadata })
