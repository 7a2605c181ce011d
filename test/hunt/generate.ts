import { seededRandom, type Random } from "../../pkg/clock/random.ts"
import type { Reason } from "../../pkg/apimachinery/errors.ts"
import { between, chance, pick, weighted } from "./chance.ts"
import type { FaultStep, Manifest, Program, Step } from "./program.ts"
import { KINDS } from "./objects/kinds.ts"
import { NAMES, TEAM } from "./objects/names.ts"
import { template } from "./objects/pod-template.ts"

/** Generates the program of a seed: some thirty actions, and as many faults. */
export function generate(seed: number): Program {
  const random = seededRandom(seed)
  const nodes = Array.from({ length: between(random, 1, 4) }, () => pick(random, [4, 8, 16]))
  const steps: Step[] = []
  const there: Manifest[] = []
  /** The probability of a fault at each step: none for some seeds, high for others. */
  const trouble = pick(random, [0, 0.15, 0.3, 0.5])
  const count = between(random, 8, 40)
  for (let i = 0; i < count; i++) {
    steps.push(
      ...(chance(random, trouble) ? [faultStep(random, nodes.length)] : [workStep(random, nodes.length, there)]),
    )
    if (chance(random, 0.7))
      steps.push({ do: "advance", ms: pick(random, [1, 100, 1000, 3000, 10_000, 40_000, 120_000]) })
  }
  return { seed, nodes, steps }
}

const nodeName = (random: Random, nodes: number): string => `node-${between(random, 0, nodes - 1)}`

function workStep(random: Random, nodes: number, there: Manifest[]): Step {
  const known = there.length === 0 ? undefined : pick(random, there)
  const choice = random.next()
  if (known === undefined || choice < 0.4) {
    const object = chance(random, 0.04) ? NAMESPACE : newObject(random)
    there.push(object)
    return { do: "apply", object }
  }
  const {
    kind,
    metadata: { name, namespace },
  } = known
  const named = { kind, name, ...(namespace === undefined ? {} : { namespace }) }
  if (choice < 0.6) {
    const body = changeOf(random, known)
    if (body !== undefined) return { do: "patch", ...named, body }
  }
  if (choice < 0.63) return { do: "own", ...named, map: pick(random, NAMES), block: chance(random, 0.5) }
  if (choice < 0.74) {
    const propagation = pick(random, ["Background", "Background", "Foreground", "Orphan"] as const)
    return { do: "delete", ...named, propagation }
  }
  const nth = between(random, 0, 99)
  if (choice < 0.82)
    return { do: "deletePod", nth, ...(chance(random, 0.3) ? { grace: pick(random, [0, 1, 20]) } : {}) }
  if (choice < 0.87) return { do: "evict", nth }
  if (choice < 0.9) return { do: "exit", nth, code: between(random, 0, 1) }
  const node = nodeName(random, nodes)
  return pick<Step>(random, [
    { do: "cordon", node },
    { do: "uncordon", node },
    { do: "uncordon", node },
    { do: "taint", node, effect: "NoSchedule" },
    { do: "taint", node, effect: "NoExecute" },
    { do: "deleteNode", node },
    { do: "addNode", cpu: pick(random, [4, 8]) },
    // Objects that every namespace has, and that controllers create again.
    { do: "delete", kind: "ServiceAccount", name: "default", propagation: "Background" },
    { do: "delete", kind: "ConfigMap", name: "kube-root-ca.crt", propagation: "Background" },
  ])
}

const NAMESPACE: Manifest = { apiVersion: "v1", kind: "Namespace", metadata: { name: TEAM } }

function newObject(random: Random): Manifest {
  const object = weighted(random, KINDS).make(random, pick(random, NAMES))
  return object.kind !== "PersistentVolume" && chance(random, 0.15)
    ? { ...object, metadata: { ...object.metadata, namespace: TEAM } }
    : object
}

/** Returns a change to an object of the kind, as a merge patch. */
function changeOf(random: Random, { kind, metadata: { name } }: Manifest): object | undefined {
  const replicas = { spec: { replicas: between(random, 0, 6) } }
  const newTemplate = (images: readonly string[]) => ({
    spec: {
      template: template(random, name, images, {
        graceless: kind !== "StatefulSet",
        choosy: kind !== "DaemonSet",
      }),
    },
  })
  const images = ["app", "api", "web", "web", "slowpull", "slowstop", "flaky", "stubborn"]
  switch (kind) {
    case "Deployment":
      return pick<() => object>(random, [
        () => replicas,
        () => newTemplate(images),
        () => newTemplate(images),
        () => ({ spec: { paused: chance(random, 0.5) } }),
      ])()
    case "StatefulSet":
      return chance(random, 0.5) ? replicas : newTemplate(images)
    case "DaemonSet":
      return newTemplate(images)
    case "ReplicaSet":
    case "ReplicationController":
      return replicas
    case "Job":
      return pick<object>(random, [
        { spec: { suspend: chance(random, 0.5) } },
        { spec: { parallelism: between(random, 0, 4) } },
      ])
    case "CronJob":
      return { spec: { suspend: chance(random, 0.5) } }
    case "Service":
      return { spec: { selector: { app: pick(random, NAMES) } } }
    case "HorizontalPodAutoscaler":
      return { spec: { maxReplicas: between(random, 3, 6) } }
    case "ResourceQuota":
      return { spec: { hard: { pods: String(between(random, 3, 30)) } } }
    default:
      return { metadata: { labels: { touched: String(between(random, 0, 9)) } } }
  }
}

const LASTS = [500, 3000, 15_000, 60_000, 200_000] as const

function faultStep(random: Random, nodes: number): Step {
  const ms = pick(random, LASTS)
  const node = nodeName(random, nodes)
  const choice = random.next()
  if (choice < 0.08) return { do: "dropWatches" }
  if (choice < 0.12) return { do: "forgetHistory" }
  if (choice < 0.16) return { do: "clockJump", ms: pick(random, [-60_000, -5000, 5000, 60_000, 3_600_000]) }
  if (choice < 0.55) return { do: "fault", fault: requestFault(random, nodes), ms }
  const fault = pick<FaultStep>(random, [
    { is: "nodeLost", node },
    { is: "nodeLost", node },
    { is: "nodePartitioned", node },
    { is: "nodePartitioned", node },
    { is: "nodeSlow", node, factor: pick(random, [2, 10, 100]) },
    { is: "nodeOutOfMemory", node },
    { is: "nodeOutOfDisk", node },
    { is: "kubeletCrashed", node },
    { is: "kubeletCrashed", node },
    { is: "crashed", component: "apiserver" },
    { is: "crashed", component: "scheduler" },
    { is: "crashed", component: "controller-manager" },
    { is: "crashed", component: "controller-manager" },
    { is: "imagePull", image: pick(random, ["*", "app", "api", "job"]) },
  ])
  return { do: "fault", fault, ms }
}

const ERRORS: readonly Reason[] = [
  "Conflict",
  "NotFound",
  "Forbidden",
  "AlreadyExists",
  "Invalid",
  "BadRequest",
  "Unauthorized",
  "TooManyRequests",
  "InternalError",
  "ServerTimeout",
  "Timeout",
  "ServiceUnavailable",
  "Gone",
]

/** The users of the writes, chosen so that every authorization rule is used. */
const WRITES: readonly { readonly verb: string; readonly resource: string; readonly subresource?: string }[] = [
  { verb: "create", resource: "pods" },
  { verb: "create", resource: "pods", subresource: "binding" },
  { verb: "patch", resource: "pods" },
  { verb: "patch", resource: "pods", subresource: "status" },
  { verb: "update", resource: "pods", subresource: "status" },
  { verb: "delete", resource: "pods" },
  { verb: "create", resource: "replicasets" },
  { verb: "update", resource: "replicasets" },
  { verb: "update", resource: "replicasets", subresource: "status" },
  { verb: "patch", resource: "replicasets" },
  { verb: "delete", resource: "replicasets" },
  { verb: "update", resource: "deployments" },
  { verb: "update", resource: "deployments", subresource: "status" },
  { verb: "update", resource: "statefulsets", subresource: "status" },
  { verb: "update", resource: "daemonsets", subresource: "status" },
  { verb: "create", resource: "controllerrevisions" },
  { verb: "update", resource: "controllerrevisions" },
  { verb: "delete", resource: "controllerrevisions" },
  { verb: "create", resource: "jobs" },
  { verb: "delete", resource: "jobs" },
  { verb: "update", resource: "jobs", subresource: "status" },
  { verb: "update", resource: "cronjobs", subresource: "status" },
  { verb: "create", resource: "endpointslices" },
  { verb: "update", resource: "endpointslices" },
  { verb: "delete", resource: "endpointslices" },
  { verb: "create", resource: "endpoints" },
  { verb: "update", resource: "endpoints" },
  { verb: "delete", resource: "endpoints" },
  { verb: "update", resource: "poddisruptionbudgets", subresource: "status" },
  { verb: "update", resource: "resourcequotas", subresource: "status" },
  { verb: "create", resource: "persistentvolumeclaims" },
  { verb: "update", resource: "persistentvolumeclaims" },
  { verb: "patch", resource: "persistentvolumeclaims" },
  { verb: "update", resource: "persistentvolumeclaims", subresource: "status" },
  { verb: "create", resource: "persistentvolumes" },
  { verb: "update", resource: "persistentvolumes" },
  { verb: "update", resource: "persistentvolumes", subresource: "status" },
  { verb: "delete", resource: "persistentvolumes" },
  { verb: "create", resource: "serviceaccounts" },
  { verb: "create", resource: "configmaps" },
  { verb: "update", resource: "configmaps" },
  { verb: "update", resource: "secrets" },
  { verb: "delete", resource: "secrets" },
  { verb: "update", resource: "namespaces", subresource: "finalize" },
  { verb: "update", resource: "replicationcontrollers", subresource: "status" },
  { verb: "create", resource: "nodes" },
  { verb: "get", resource: "nodes" },
  { verb: "patch", resource: "nodes" },
  { verb: "update", resource: "nodes" },
  { verb: "patch", resource: "nodes", subresource: "status" },
  { verb: "update", resource: "leases" },
  { verb: "patch", resource: "leases" },
  { verb: "create", resource: "leases" },
  { verb: "create", resource: "events" },
  { verb: "patch", resource: "events" },
  { verb: "create", resource: "serviceaccounts", subresource: "token" },
  { verb: "get", resource: "configmaps" },
  { verb: "list", resource: "pods" },
  { verb: "watch", resource: "pods" },
  { verb: "get", resource: "pods" },
  { verb: "*", resource: "*" },
]

function requestFault(random: Random, nodes: number): FaultStep {
  const { verb, resource, subresource } = pick(random, WRITES)
  const user = chance(random, 0.2)
    ? pick(random, [
        "system:kube-scheduler",
        `system:node:${nodeName(random, nodes)}`,
        "system:kube-controller-manager",
      ])
    : undefined
  return {
    is: "requests",
    verb,
    resource,
    ...(subresource === undefined ? {} : { subresource }),
    ...(user === undefined ? {} : { user }),
    ...(chance(random, 0.75) ? { error: pick(random, ERRORS) } : { delay: pick(random, [50, 2000, 20_000]) }),
    ...(chance(random, 0.4) ? { times: pick(random, [1, 1, 2, 5]) } : {}),
  }
}
