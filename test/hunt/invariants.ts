import { fromLabelSelector, fromLabels } from "../../pkg/apimachinery/selectors/labels.ts"
import { isPodActive, isPodReady, isPodTerminal, isPodTerminating } from "../../pkg/pods/pod-state.ts"
import type { Job, KubeObject, Pod } from "../../components/cluster/testing/testing.ts"
import { controllerOf } from "../../pkg/controller/owned.ts"
import { milliOf } from "../../pkg/apimachinery/scalars/quantity.ts"
import { canBePlaced } from "./can-be-placed.ts"
import { requestOf } from "./room.ts"
import { LATE } from "./objects/names.ts"
import { nameOf, ownedBy, type RunningContainer, type World } from "./world.ts"

/** Returns the violations, one line each; empty if there are none. */
type Invariant = (world: World) => readonly string[]

/** The invariants that hold once all faults are over and the cluster has had time to settle. */
export const AT_REST: Readonly<Record<string, Invariant>> = {
  "all nodes are ready and free of taints": ({ nodes }) =>
    nodes
      .filter(
        ({ status, spec }) =>
          status.conditions?.find(({ type }) => type === "Ready")?.status !== "True" || (spec.taints ?? []).length > 0,
      )
      .map((node) => `${nameOf(node)}: ${JSON.stringify([node.status.conditions, node.spec.taints])}`),

  "nothing that is deleted stays": (world) =>
    all(world)
      .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
      .filter((object) => !isProtected(object, world) && !awaitsSuccessor(object, world))
      .map(
        (object) =>
          `${nameOf(object)} since ${object.metadata.deletionTimestamp}, finalizers ` +
          `${JSON.stringify(object.metadata.finalizers)}`,
      ),

  "Deployments have converged": (world) =>
    world.deployments.flatMap((deployment) => {
      const { metadata, spec, status } = deployment
      if (status.observedGeneration !== metadata.generation) return [`${nameOf(deployment)} has not been seen`]
      const mine = world.replicaSets.filter((set) => ownedBy(deployment, set))
      const kept = mine.filter(({ spec: { replicas } }) => replicas === 0).length
      const ready = world.pods.filter((pod) => isPodActive(pod) && mine.some((set) => ownedBy(set, pod)))
      if (ready.some((pod) => waits(pod) && !canBePlaced(pod, world))) return []
      const wanted = spec.replicas
      const is = [status.replicas ?? 0, status.availableReplicas ?? 0, status.readyReplicas ?? 0]
      return [
        ...(spec.paused === true
          ? []
          : is.every((count) => count === wanted) && (status.updatedReplicas ?? 0) === wanted
            ? []
            : lacksQuota(deployment, world)
              ? []
              : [`${nameOf(deployment)} wants ${wanted} and has ${JSON.stringify(status)}`]),
        ...(spec.paused !== true && kept > (spec.revisionHistoryLimit ?? 10) + 1
          ? [`${nameOf(deployment)} keeps ${kept} old ReplicaSets`]
          : []),
      ]
    }),

  "ReplicaSets and ReplicationControllers have their pods": (world) =>
    [...world.replicaSets, ...world.replicationControllers].flatMap((set) => {
      const mine = world.pods.filter((pod) => isPodActive(pod) && ownedBy(set, pod))
      if (set.status.observedGeneration !== set.metadata.generation) return [`${nameOf(set)} has not been seen`]
      if (mine.some((pod) => waits(pod) && !canBePlaced(pod, world))) return []
      const is = [mine.length, set.status.replicas, set.status.readyReplicas ?? 0, set.status.availableReplicas ?? 0]
      return is.every((count) => count === set.spec.replicas) || lacksQuota(set, world)
        ? []
        : [`${nameOf(set)} wants ${set.spec.replicas} and has ${mine.length}, status ${JSON.stringify(set.status)}`]
    }),

  "Deployments and ReplicaSets know how many pods are ending": (world) => {
    const counted = (set: KubeObject) => world.pods.filter((pod) => ownedBy(set, pod) && isPodTerminating(pod)).length
    const sets = world.replicaSets.map((set) => ({ set, is: set.status.terminatingReplicas, wanted: counted(set) }))
    const deployments = world.deployments.map((deployment) => ({
      set: deployment,
      is: deployment.status.terminatingReplicas,
      wanted: world.replicaSets.reduce((sum, set) => sum + (ownedBy(deployment, set) ? counted(set) : 0), 0),
    }))
    return [...sets, ...deployments]
      .filter(({ is, wanted }) => is !== wanted)
      .map(({ set, is, wanted }) => `${nameOf(set)} has ${wanted} pods that are ending, and tells ${is}`)
  },

  "StatefulSets have a pod for each ordinal": (world) =>
    world.statefulSets.flatMap((set) => {
      const { spec, status } = set
      const mine = world.pods.filter((pod) => ownedBy(set, pod))
      if (mine.some((pod) => waits(pod) && !canBePlaced(pod, world))) return []
      const start = spec.ordinals?.start ?? 0
      const wanted = Array.from({ length: spec.replicas }, (_, i) => `${set.metadata.name}-${start + i}`)
      if (wanted.some((name) => isHeldByAnother(name, set, world))) return []
      const is = mine.map(({ metadata }) => metadata.name ?? "").sort()
      if (JSON.stringify(is) !== JSON.stringify(wanted.sort()))
        return world.quotas.length > 0 ? [] : [`${nameOf(set)} wants ${wanted.join()} and has ${is.join()}`]
      const counts = [status.replicas, status.readyReplicas ?? 0, status.availableReplicas]
      const isOld =
        status.updateRevision !== status.currentRevision && (spec.updateStrategy.rollingUpdate?.partition ?? 0) === 0
      return counts.some((count) => count !== spec.replicas) ||
        isOld ||
        status.observedGeneration !== set.metadata.generation
        ? [`${nameOf(set)} has status ${JSON.stringify(status)}`]
        : []
    }),

  "DaemonSets have a pod on each node": (world) =>
    world.daemonSets.flatMap((set) => {
      const mine = world.pods.filter((pod) => isPodActive(pod) && ownedBy(set, pod))
      if (mine.some((pod) => waits(pod) && !canBePlaced(pod, world))) return []
      const { status } = set
      const on = new Set(mine.map(({ spec }) => spec.nodeName))
      return on.size === world.nodes.length &&
        mine.length === world.nodes.length &&
        status.desiredNumberScheduled === world.nodes.length &&
        status.numberReady === world.nodes.length &&
        status.updatedNumberScheduled === world.nodes.length &&
        (status.numberMisscheduled ?? 0) === 0
        ? []
        : world.quotas.length > 0
          ? []
          : [
              `${nameOf(set)} has ${mine.length} pods on ${on.size} of ${world.nodes.length} nodes, status ` +
                `${JSON.stringify(status)}`,
            ]
    }),

  "Jobs have ended, and counted each of their pods": (world) =>
    world.jobs.flatMap((job) => {
      const mine = world.pods.filter((pod) => ownedBy(job, pod))
      if (mine.some((pod) => waits(pod) && !canBePlaced(pod, world))) return []
      return world.quotas.length > 0 ? [] : jobProblems(job, mine)
    }),

  "pods are where there is room, and run": (world) =>
    world.pods.flatMap((pod) => {
      if (pod.metadata.deletionTimestamp !== undefined || isPodTerminal(pod)) return []
      if (!pod.spec.nodeName)
        return canBePlaced(pod, world)
          ? [`${nameOf(pod)} waits though there is room: ${JSON.stringify(pod.status)}`]
          : []
      if (!isPodReady(pod)) return [`${nameOf(pod)} is not ready: ${JSON.stringify(pod.status)}`]
      const missing = pod.spec.containers.filter(
        ({ name }) =>
          !world.containers.some(
            (run) => run.uid === pod.metadata.uid && run.name === name && run.node === pod.spec.nodeName,
          ),
      )
      return missing.map(({ name }) => `container ${name} of ${nameOf(pod)} does not run on ${pod.spec.nodeName}`)
    }),

  "what runs belongs to a pod of its node": ({ pods, containers }) => {
    const byUid = new Map(pods.map((pod) => [pod.metadata.uid, pod]))
    return containers.flatMap(({ uid, node, namespace, pod: name, name: container }) => {
      const pod = byUid.get(uid)
      return pod !== undefined && pod.spec.nodeName === node && !isPodTerminal(pod)
        ? []
        : [
            `container ${container} of pod ${namespace}/${name} runs on ${node}; the pod is ` +
              `${pod === undefined ? "gone" : `${pod.status.phase} on ${pod.spec.nodeName}`}`,
          ]
    })
  },

  "each container runs once": ({ containers }) => doubles(containers),

  "addresses of pods are their own": ({ pods }) => {
    const seen = new Map<string, string>()
    return pods.flatMap((pod) => {
      const ip = pod.status.podIP
      if (ip === undefined || ip === "" || isPodTerminal(pod) || pod.spec.hostNetwork === true) return []
      const other = seen.get(ip)
      seen.set(ip, nameOf(pod))
      return other === undefined ? [] : [`${nameOf(pod)} and ${other} have ${ip}`]
    })
  },

  "endpoints are the ready pods": ({ services, endpoints, slices, pods }) =>
    services.flatMap((service) => {
      const selector = service.spec.selector
      if (selector === undefined || Object.keys(selector).length === 0) return []
      const beside = ({ metadata }: KubeObject) => metadata.namespace === service.metadata.namespace
      const matching = pods.filter(
        (pod) =>
          beside(pod) && fromLabels(selector).matches(pod.metadata.labels) && !isPodTerminal(pod) && pod.status.podIP,
      )
      const ready = sorted(
        matching
          .filter((pod) => isPodReady(pod) || service.spec.publishNotReadyAddresses === true)
          .map(({ status }) => status.podIP!),
      )
      const inSlices = sorted(
        slices
          .filter(beside)
          .filter(({ metadata }) => metadata.labels?.["kubernetes.io/service-name"] === service.metadata.name)
          .flatMap((slice) => (slice.endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false))
          .flatMap(({ addresses }) => addresses),
      )
      const old = endpoints.filter(beside).find(({ metadata }) => metadata.name === service.metadata.name)
      const inEndpoints = sorted((old?.subsets ?? []).flatMap(({ addresses }) => (addresses ?? []).map(({ ip }) => ip)))
      return [
        ...(ready === inSlices ? [] : [`${nameOf(service)} selects ${ready}, its slices have ${inSlices}`]),
        ...(ready === inEndpoints ? [] : [`${nameOf(service)} selects ${ready}, its Endpoints have ${inEndpoints}`]),
      ]
    }),

  "budgets count what is there": ({ budgets, pods }) =>
    budgets.flatMap((budget) => {
      const { spec, status } = budget
      // An object without a controller cannot be relied on, and is reported as a failure.
      if (status.conditions?.some(({ reason }) => reason === "SyncFailed") === true) return []
      if (status.observedGeneration !== budget.metadata.generation) return [`${nameOf(budget)} has not been seen`]
      const matching = pods.filter(
        (pod) =>
          pod.metadata.namespace === budget.metadata.namespace &&
          fromLabelSelector(spec.selector ?? {}).matches(pod.metadata.labels) &&
          isPodActive(pod),
      )
      const healthy = matching.filter(isPodReady).length
      return status.currentHealthy === healthy
        ? []
        : [`${nameOf(budget)} counts ${status.currentHealthy} healthy pods of ${healthy}`]
    }),

  "quotas count what is there": ({ quotas, pods, services }) =>
    quotas.flatMap((quota) => {
      const beside = ({ metadata }: KubeObject) => metadata.namespace === quota.metadata.namespace
      const there = {
        pods: pods.filter((pod) => beside(pod) && !isPodTerminal(pod)).length,
        services: services.filter(beside).length,
        "requests.cpu": pods
          .filter((pod) => beside(pod) && !isPodTerminal(pod))
          .reduce((sum, pod) => sum + requestOf(pod, "cpu") / 1000, 0),
      }
      const { hard = {}, used = {} } = quota.status
      return (["pods", "services", "requests.cpu"] as const).flatMap((what) =>
        hard[what] === undefined || milliOf(used[what] ?? "0") === Math.round(there[what] * 1000)
          ? []
          : [`${nameOf(quota)} counts ${used[what]} ${what} of ${there[what]}`],
      )
    }),

  "claims are bound where there is a volume, or one can be made": ({ claims, volumes }) =>
    claims
      .filter(({ metadata, status }) => status.phase !== "Bound" && metadata.deletionTimestamp === undefined)
      .filter(({ spec: { storageClassName } }) =>
        storageClassName === ""
          ? volumes.some(({ spec, status }) => status.phase === "Available" && spec.storageClassName === "")
          : // A claim that waits for its pod is checked with the pod.
            storageClassName !== LATE,
      )
      .map((claim) => `${nameOf(claim)} is ${claim.status.phase}`),

  "volumes that were made go with their claims": ({ claims, volumes }) =>
    volumes
      .filter(({ metadata }) => metadata.annotations?.["pv.kubernetes.io/provisioned-by"] !== undefined)
      .filter(({ spec }) => !claims.some(({ metadata }) => metadata.uid === spec.claimRef?.uid))
      .map((volume) => `${nameOf(volume)} is ${volume.status.phase}, its claim is gone`),

  "namespaces have their account and their root certificate": ({ namespaces, accounts, maps }) =>
    namespaces.flatMap(({ metadata: { name } }) => [
      ...(accounts.some(({ metadata }) => metadata.namespace === name && metadata.name === "default")
        ? []
        : [`namespace ${name} has no account`]),
      ...(maps.some(({ metadata }) => metadata.namespace === name && metadata.name === "kube-root-ca.crt")
        ? []
        : [`namespace ${name} has no root certificate`]),
    ]),

  "Secrets for tokens have them": ({ secrets }) =>
    secrets
      .filter(({ type, data }) => type === "kubernetes.io/service-account-token" && data?.["token"] === undefined)
      .map(nameOf),

  "nodes have their leases": ({ nodes, leases }) => {
    const namesOf = (objects: readonly KubeObject[]) => sorted(objects.map(({ metadata }) => metadata.name ?? ""))
    const held = leases.filter(({ metadata }) => metadata.namespace === "kube-node-lease")
    return namesOf(held) === namesOf(nodes) ? [] : [`there are nodes ${namesOf(nodes)} and leases ${namesOf(held)}`]
  },

  "Endpoints go with their Services": ({ services, endpoints }) =>
    endpoints
      .filter(
        ({ metadata: { name, namespace } }) =>
          !services.some(({ metadata }) => metadata.name === name && metadata.namespace === namespace),
      )
      .map((object) => `${nameOf(object)} has no Service`),

  "owners are there": (world) => {
    const objects = all(world)
    const uids = new Set(objects.map(({ metadata }) => metadata.uid))
    return objects
      .filter(({ metadata: { ownerReferences = [] } }) =>
        ownerReferences.some(({ uid, kind }) => kind !== "Node" && !uids.has(uid)),
      )
      .map((object) => `${nameOf(object)} is owned by ${JSON.stringify(object.metadata.ownerReferences)}`)
  },
}

/** Claims stay while pods with a node name them, even ended pods; and volumes stay while claims are bound to them. */
function isProtected({ kind, metadata }: KubeObject, { pods, claims }: World): boolean {
  if (kind === "PersistentVolume") return claims.some(({ spec }) => spec.volumeName === metadata.name)
  return (
    kind === "PersistentVolumeClaim" &&
    pods.some(
      (pod) =>
        pod.metadata.namespace === metadata.namespace &&
        !waits(pod) &&
        (pod.spec.volumes ?? []).some(({ persistentVolumeClaim: used }) => used?.claimName === metadata.name),
    )
  )
}

/**
 * Whether the object is the last failed pod of an index, which holds the count of failures until its successor takes it
 * over. A Job that is suspended or has no parallelism creates no successor, so the pod stays. Any other Job must have
 * ended, which is an invariant of its own. Source: canRemoveFinalizer in pkg/controller/job/job_controller.go.
 */
function awaitsSuccessor(object: KubeObject, { jobs, pods }: World): boolean {
  const { uid, finalizers = [] } = object.metadata
  const index = indexOf(object)
  const job = jobs.find((one) => ownedBy(one, object))
  if (index === undefined || job?.spec.backoffLimitPerIndex === undefined || hasEnded(job)) return false
  const holdsOthers = pods.some(
    (pod) => pod.metadata.uid !== uid && ownedBy(job, pod) && indexOf(pod) === index && isTracked(pod),
  )
  return finalizers.length === 1 && isTracked(object) && !holdsOthers
}

const indexOf = ({ metadata }: KubeObject): string | undefined =>
  metadata.labels?.["batch.kubernetes.io/job-completion-index"]
const isTracked = ({ metadata }: KubeObject): boolean =>
  metadata.finalizers?.includes("batch.kubernetes.io/job-tracking") === true
const holds = ({ status }: Job, type: string): boolean =>
  status.conditions?.some((one) => one.type === type && one.status === "True") === true
const hasEnded = (job: Job): boolean => holds(job, "Complete") || holds(job, "Failed")

/** A pod that another controller has adopted keeps its name, and no other pod can get it. */
const isHeldByAnother = (name: string, { metadata }: KubeObject, { pods }: World): boolean =>
  pods.some((pod) => {
    const owner = controllerOf(pod)
    return (
      pod.metadata.namespace === metadata.namespace &&
      pod.metadata.name === name &&
      owner !== undefined &&
      owner.uid !== metadata.uid
    )
  })

const sorted = (addresses: readonly string[]): string => [...addresses].sort().join(" ")

const waits = (pod: Pod): boolean => !pod.spec.nodeName

const all = (world: World): readonly KubeObject[] =>
  Object.values(world).flatMap((objects: unknown) =>
    Array.isArray(objects) ? (objects as unknown[]).filter((object): object is KubeObject => isObject(object)) : [],
  )
const isObject = (object: unknown): boolean => typeof object === "object" && object !== null && "metadata" in object

/**
 * Whether a quota of its namespace has no pods left. The condition of a ReplicaSet keeps the first reason, as upstream.
 */
const lacksQuota = ({ metadata }: KubeObject, { quotas }: World): boolean =>
  quotas.some(({ metadata: { namespace }, status: { hard = {}, used = {} } }) => {
    if (namespace !== metadata.namespace || hard["pods"] === undefined) return false
    // What each pod asks for decides, and those that ask for nothing are refused.
    if (hard["requests.cpu"] !== undefined) return true
    return Number(used["pods"] ?? 0) >= Number(hard["pods"])
  })

function jobProblems(job: Job, pods: readonly Pod[]): readonly string[] {
  const { spec, status } = job
  if (spec.suspend === true || spec.parallelism === 0) return []
  const problems: string[] = []
  const { uncountedTerminatedPods: uncounted } = status
  if ((uncounted?.succeeded ?? []).length + (uncounted?.failed ?? []).length > 0) problems.push("has pods not counted")
  if (!hasEnded(job)) problems.push("has not ended")
  if ((status.active ?? 0) > 0) problems.push(`counts ${status.active} active pods`)
  if (
    holds(job, "Complete") &&
    spec.completions !== undefined &&
    spec.successPolicy === undefined &&
    status.succeeded !== spec.completions
  )
    problems.push(`is complete with ${status.succeeded} of ${spec.completions} completions`)
  const left = pods.filter(isTracked)
  if (left.length > 0) problems.push(`tracks ${left.map(({ metadata }) => metadata.name).join()} still`)
  return problems.map((problem) => `${nameOf(job)} ${problem}: ${JSON.stringify(status)}`)
}

/** Each container of a pod runs only once, and no two pods run under the same name of a StatefulSet. */
export function doubles(containers: readonly RunningContainer[]): readonly string[] {
  const byPod = Map.groupBy(containers, ({ namespace, pod, uid, name }) =>
    ORDINAL.test(pod) ? `${namespace}/${pod} ${name}` : `${namespace}/${pod} (${uid}) ${name}`,
  )
  return [...byPod]
    .filter(([, { length }]) => length > 1)
    .map(
      ([name, runs]) => `${name} runs ${runs.length} times: ${runs.map(({ node, uid }) => `${uid} on ${node}`).join()}`,
    )
}

/** The end of the names of StatefulSets' pods. */
export const ORDINAL = /-\d{1,2}$/
