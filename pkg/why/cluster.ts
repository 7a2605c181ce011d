import type { KubeObject } from "../apimachinery/resource.ts"
import { exactKey } from "../cache/exact-key.ts"
import { errorMessage } from "../errors/error-message.ts"
import {
  byWeight,
  isWrong,
  nameOf,
  type Cause,
  type Finding,
  type Link,
  type Mend,
  type ObjectRef,
  type State,
} from "./answer.ts"
import { controllerOf } from "./doctor.ts"
import {
  ACCOUNTS,
  API_SERVICES,
  AUTOSCALERS,
  CLAIMS,
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  CRON_JOBS,
  DAEMON_SETS,
  DEFINITIONS,
  DEPLOYMENTS,
  EVENTS,
  INGRESSES,
  JOBS,
  MUTATING_WEBHOOKS,
  NAMESPACES,
  NODES,
  PODS,
  POLICY_BINDINGS,
  refOf,
  REPLICA_SETS,
  ROLE_BINDINGS,
  ROLES,
  SERVICES,
  STATEFUL_SETS,
  VALIDATING_POLICIES,
  VALIDATING_WEBHOOKS,
  type Kind,
} from "./reading/kinds.ts"
import { Reader, type WhyApi } from "./reading/reader.ts"
import { Walk } from "./walk.ts"

/** One cause, with all objects that are unwell because of it. */
export interface Group {
  readonly cause: Cause
  /** The objects that were looked at, the first with its chain to the cause. */
  readonly objects: readonly ObjectRef[]
  readonly chain: readonly Link[]
  readonly mends: readonly Mend[]
  readonly hints: readonly string[]
}

export interface Overview {
  readonly state: State
  /** How many objects were looked at. */
  readonly examined: number
  /** The worst first: what most objects suffer from. */
  readonly groups: readonly Group[]
  /** What is not wrong yet, as of objects that are new. */
  readonly underWay: readonly Group[]
  readonly unknown: readonly string[]
}

/** The kinds that are looked at, those that others depend on first. Others are reached through these. */
const ASKED: readonly Kind[] = [
  NODES,
  NAMESPACES,
  API_SERVICES,
  VALIDATING_WEBHOOKS,
  MUTATING_WEBHOOKS,
  DEPLOYMENTS,
  STATEFUL_SETS,
  DAEMON_SETS,
  REPLICA_SETS,
  CRON_JOBS,
  JOBS,
  PODS,
  CLAIMS,
  SERVICES,
  INGRESSES,
  AUTOSCALERS,
  VALIDATING_POLICIES,
  POLICY_BINDINGS,
  ROLE_BINDINGS,
  CLUSTER_ROLE_BINDINGS,
]

/** What bindings are compared with. */
const COMPARED: readonly Kind[] = [ROLES, CLUSTER_ROLES, ACCOUNTS]

/** Kinds that say who may do what. A binding that is left over from accounts which are gone hurts nobody. */
const BINDINGS: readonly string[] = [ROLE_BINDINGS.kind, CLUSTER_ROLE_BINDINGS.kind]

/** Kinds whose faults stop what others do. */
const WEBHOOKS: readonly string[] = [VALIDATING_WEBHOOKS.kind, MUTATING_WEBHOOKS.kind]

/** How many objects of one custom kind are looked at. */
const MOST_CUSTOM = 200

/** Returns what is unwell in the cluster, or in one namespace, grouped by cause. */
export async function whyCluster(api: WhyApi, namespace?: string): Promise<Overview> {
  const reader = new Reader(api)
  const unknown: string[] = []
  // One list of all namespaces answers what is asked of each.
  for (const kind of [EVENTS, ...ASKED, ...COMPARED]) await reader.listIfAllowed<KubeObject>(kind)
  const walk = new Walk(reader)
  const groups = new Map<string, { first: Finding; objects: ObjectRef[] }>()
  let examined = 0
  for (const kind of [...ASKED, ...(await customKinds(reader, unknown))]) {
    if (namespace !== undefined && !kind.namespaced) continue
    let objects: readonly KubeObject[]
    try {
      objects = await reader.list(kind, namespace)
    } catch (err) {
      // Who may look at workloads may seldom see who has which right.
      if (!BINDINGS.includes(kind.kind)) unknown.push(`${kind.plural}: ${errorMessage(err)}`)
      continue
    }
    for (const object of objects) {
      if (isAskedThroughOwner(object)) continue
      examined++
      await reader.turn()
      const { findings, unknown: own, object: ref } = await walk.answer(refOf(object))
      for (const line of own) if (!unknown.includes(line)) unknown.push(line)
      // The first is the cause; what else is wrong with the object comes after it.
      const [first] = findings.filter((one) => one.weight !== "note" && hurts(one, object))
      if (first === undefined) continue
      const key = exactKey([first.cause.code, sharedBy(first)])
      const group = groups.get(key)
      if (group === undefined) groups.set(key, { first, objects: [ref] })
      else {
        group.objects.push(ref)
        if (byWeight(first, group.first) < 0) group.first = first
      }
    }
  }
  const sorted = [...groups.values()].toSorted(
    (a, b) => stops(b) - stops(a) || byWeight(a.first, b.first) || b.objects.length - a.objects.length,
  )
  const told = (some: typeof sorted): readonly Group[] =>
    some.map(({ first: { cause, chain, mends, hints }, objects }) => ({ cause, objects, chain, mends, hints }))
  const [wrong, underWay] = [
    sorted.filter(({ first }) => isWrong(first)),
    sorted.filter(({ first }) => !isWrong(first)),
  ]
  return {
    state: wrong.length > 0 ? "unwell" : unknown.length > 0 ? "unknown" : underWay.length > 0 ? "under-way" : "healthy",
    examined,
    groups: told(wrong),
    underWay: told(underWay),
    unknown,
  }
}

/** Whether what is wrong with an object hurts others, or itself where others do not depend on it. */
const hurts = ({ cause }: Finding, { kind }: KubeObject): boolean =>
  !BINDINGS.includes(kind) || cause.code === "role-missing"

/** 1 for a cause that stops what others do, 0 for another: a webhook that must be asked and does not answer. */
const stops = ({ first, objects }: { readonly first: Finding; readonly objects: readonly ObjectRef[] }): number =>
  Number(isWrong(first) && objects.some(({ kind }) => WEBHOOKS.includes(kind)))

/** Objects with a controller are told of with it, and once. */
const isAskedThroughOwner = (object: KubeObject): boolean => {
  const owner = controllerOf(object)
  return owner !== undefined && owner.kind !== "Node" && ["Pod", "ReplicaSet", "Job"].includes(object.kind)
}

/** Causes that are in a program itself, so that two workloads with the same words have not the same cause. */
const OF_PROGRAM = /^(?:exits|ended-by|oom|command|killed|evicted|starting|init-container|right|read-only)|-probe-/

/** What objects with the same cause share: the names of pods differ between those of one workload. */
function sharedBy({ cause, chain }: Finding): string {
  const owner = chain.toReversed().find(({ object }) => !["Pod", "ReplicaSet", "Job"].includes(object.kind))?.object
  if (owner !== undefined && OF_PROGRAM.test(cause.code)) return nameOf(owner)
  // Each object that a webhook keeps from being made has words of its own about it.
  const webhook = cause.code.startsWith("webhook-") ? /^admission webhook (\S+)/.exec(cause.message)?.[1] : undefined
  if (webhook !== undefined) return `webhook ${webhook}`
  const pods = chain.filter(({ object }) => object.kind === "Pod").map(({ object }) => object.name)
  return pods.reduce((text, name) => text.replaceAll(name, ""), cause.message)
}

async function customKinds(reader: Reader, unknown: string[]): Promise<readonly Kind[]> {
  const definitions = await reader.listIfAllowed(DEFINITIONS)
  if (definitions === undefined || definitions.length === 0) return []
  const groups = new Set(definitions.map(({ spec }) => `${spec.group}/${spec.names.plural}`))
  try {
    const served = (await reader.served()).filter(({ apiVersion, plural }) =>
      groups.has(`${apiVersion.split("/")[0]!}/${plural}`),
    )
    const kinds: Kind[] = []
    for (const kind of served) {
      if (kinds.some((one) => one.plural === kind.plural && sameGroup(one, kind))) continue
      const all = await reader.listIfAllowed(kind)
      if (all !== undefined && all.length <= MOST_CUSTOM) kinds.push(kind)
    }
    return kinds
  } catch (err) {
    unknown.push(errorMessage(err))
    return []
  }
}

const sameGroup = (a: Kind, b: Kind): boolean => a.apiVersion.split("/")[0] === b.apiVersion.split("/")[0]
