import type { KubeObject } from "../../apimachinery/resource.ts"
import { finding, nameOf, type Finding } from "../answer.ts"
import { healthy, unwell, type Doctor, type Ward } from "../doctor.ts"
import { recentEvents } from "../events.ts"
import { gatewayFindings, isOfGatewayApi, isRoute } from "../network/gateway.ts"
import { DEFINITIONS, refOf, type Kind } from "../reading/kinds.ts"
import { conversionFindings } from "./definition-objects.ts"
import { changedAt, PROGRESS_MS, REACTION_MS, within } from "../under-way.ts"

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
  readonly lastTransitionTime?: string
}

interface Status {
  readonly conditions?: unknown
  readonly observedGeneration?: number
  readonly phase?: unknown
  readonly state?: unknown
  readonly message?: unknown
  readonly reason?: unknown
  readonly ready?: unknown
  readonly error?: unknown
  readonly errorMessage?: unknown
  readonly lastError?: unknown
  /** Applications of Argo CD. */
  readonly health?: { readonly status?: unknown; readonly message?: unknown }
  /** Routes of Gateway API have conditions for each Gateway. */
  readonly parents?: readonly { readonly parentRef?: { readonly name?: string }; readonly conditions?: unknown }[]
  /** Gateways have conditions for each listener. */
  readonly listeners?: readonly { readonly name?: string; readonly conditions?: unknown }[]
}

const list = (conditions: unknown): readonly Condition[] =>
  Array.isArray(conditions) ? (conditions as readonly Condition[]) : []

/** Returns all conditions, those of a part with its name. */
function conditionsOf(status: Status = {}): readonly Condition[] {
  const of = (what: string, conditions: unknown) =>
    list(conditions).map((one) => ({ ...one, message: `${what}: ${one.message ?? ""}` }))
  const listeners = Array.isArray(status.listeners) ? status.listeners : []
  const parents = Array.isArray(status.parents) ? status.parents : []
  return [
    ...listeners.flatMap(({ name = "", conditions }) => of(`listener ${name}`, conditions)),
    ...parents.flatMap(({ parentRef, conditions }) => of(`parent ${parentRef?.name ?? ""}`, conditions)),
    ...list(status.conditions),
  ]
}

/** Conditions that are well when they are False. Others are well when they are True, which is the convention. */
const BAD_WHEN_TRUE =
  /(?:Degraded|Stalled|Failed|Failure|Error|Pressure|Unavailable|Conflict|Dangling|Issue|Suspended|Paused|NonStructuralSchema|Terminating|Deprecated|Blocked|OutOfSync|NotReady|Unhealthy|Unreachable|Invalid|Rejected|Misconfigured|Expired|Exhausted)/i
/** Conditions that say how things go, not whether they are well. */
const NEUTRAL = /(?:Progressing|Reconciling|Upgrad|Scaling|Issuing|Deleting|InProgress)/i

/** Objects of kinds without a doctor: their controllers say in conditions how they are. */
export const customResource: Doctor = {
  kind: undefined as unknown as Kind,
  async examine(object, ward) {
    const { status } = object as typeof object & { readonly status?: Status }
    const conditions = conditionsOf(status)
    // Where the controller says that the whole is ready, a part that is not so is meant: nothing calls it, for example.
    const isReady = list(status?.conditions).some(({ type, status: is }) => type === "Ready" && is === "True")
    const bad = conditions.filter((one) => isBad(one) && (!isReady || BAD_WHEN_TRUE.test(one.type)))
    const events = await recentEvents(ward.reader, object, ["Warning"])
    const ref = refOf(object)
    const named = await findingsOfNamed(object, ward)
    const own = bad.map(({ type, status: is, reason = "", message = "" }) =>
      finding("condition", `its controller says ${type}=${is}: ${[reason, message].filter(Boolean).join(": ")}`, {
        evidence: events,
      }),
    )
    // What is named and is not there explains the conditions.
    const findings: Finding[] = [...named, ...own]
    const observed = status?.observedGeneration
    const { generation } = object.metadata
    if (findings.length === 0 && observed !== undefined && generation !== undefined && observed < generation)
      findings.push(
        within(
          finding(
            "controller-behind",
            `its controller has seen generation ${observed} of ${generation}: it is behind, or does not run`,
            { weight: "waiting", evidence: events },
          ),
          ward.reader.now,
          changedAt(object),
          REACTION_MS,
        ),
      )
    const said = findings.length === 0 ? badWord(status) : undefined
    if (said !== undefined) return unwell(said, [finding("phase", `its controller says ${said}`, { evidence: events })])
    const waits = findings.length === 0 && conditions.length === 0 ? waitingWord(status) : undefined
    if (waits !== undefined)
      return unwell(waits, [
        within(
          finding("phase", `its controller says ${waits}`, { weight: "waiting", evidence: events }),
          ward.reader.now,
          changedAt(object),
          PROGRESS_MS,
        ),
      ])
    if (findings.length > 0)
      return unwell(bad.map(({ type, status: is }) => `${type}=${is}`).join(", ") || "is not served", findings)
    if (conditions.length === 0 && events.length > 0)
      return unwell(
        "has warnings",
        [finding("warning", `perhaps: ${events[0]!}`, { sure: false, evidence: events })],
        [`${nameOf(ref)} has no conditions, so its state is not known`],
      )
    if (status === undefined || Object.keys(status).length === 0)
      return healthy("exists", isCustom(object) || isRoute(object) ? [silent] : [])
    return healthy(
      conditions.length === 0 ? "exists" : conditions.map(({ type, status: is }) => `${type}=${is}`).join(", "),
    )
  },
}

/** Returns what is wrong with objects that an object names, for kinds of which that is known. */
async function findingsOfNamed(object: KubeObject, ward: Ward): Promise<readonly Finding[]> {
  if (isOfGatewayApi(object)) return gatewayFindings(object, ward)
  return object.kind === DEFINITIONS.kind && object.apiVersion === DEFINITIONS.apiVersion
    ? conversionFindings(object, ward)
    : []
}

/** Words of controllers that do not write conditions. */
const BAD_WORD = /^(?:failed|failure|error|errored|degraded|unhealthy|stalled|crashloopbackoff|lost)$/i

/** Returns what a controller says in a word, with its reason, where the word is a bad one. */
function badWord(status: Status = {}): string | undefined {
  const { phase, state, health, reason, message, error, errorMessage, lastError } = status
  const texts = (values: readonly unknown[]) =>
    values.filter((one): one is string => typeof one === "string" && one !== "")
  const [word] = texts([phase, state, health?.status]).filter((one) => BAD_WORD.test(one))
  const errors = texts([error, errorMessage, lastError])
  if (word === undefined && status.ready === false && errors.length > 0) return `not ready: ${errors.join(": ")}`
  return word === undefined ? undefined : [word, ...texts([reason, message, health?.message]), ...errors].join(": ")
}

/** Words for what an object waits for, which may take its time. */
const WAITING_WORD = /^(?:pending|waiting|creating|provisioning|initializing)$/i

/** Returns that a controller is not done with an object, where it tells what it waits for. */
function waitingWord({ phase, state, reason, message }: Status = {}): string | undefined {
  const texts = [reason, message].filter((one): one is string => typeof one === "string" && one !== "")
  const word = [phase, state].find((one): one is string => typeof one === "string" && WAITING_WORD.test(one))
  return word === undefined || texts.length === 0 ? undefined : [word, ...texts].join(": ")
}

/** Kinds of a group with a domain that is not Kubernetes' own have a controller of somebody else. */
const isCustom = ({ apiVersion }: KubeObject): boolean => {
  const [group = ""] = apiVersion.split("/")
  return group.includes(".") && !group.endsWith(".k8s.io")
}

const silent = finding("status-empty", "nobody has written its status; perhaps its controller does not run", {
  weight: "note",
  sure: false,
})

const isBad = ({ type, status }: Condition): boolean =>
  NEUTRAL.test(type) ? false : BAD_WHEN_TRUE.test(type) ? status === "True" : status === "False" || status === "Unknown"
