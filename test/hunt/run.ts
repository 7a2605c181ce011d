import type { ObjectMeta } from "../../pkg/apimachinery/meta.ts"
import { fromLabelSelector } from "../../pkg/apimachinery/selectors/labels.ts"
import { isPodActive, isPodReady } from "../../pkg/pods/pod-state.ts"
import { errorMessage } from "../../pkg/errors/error-message.ts"
import {
  ApiError,
  isNotFound,
  ConfigMap,
  CronJob,
  HorizontalPodAutoscaler,
  Node,
  Pod,
  PodDisruptionBudget,
  startCluster,
  TestClusterError,
  type Cluster,
  type ClusterOptions,
  type Fault,
  type HistoryEntry,
  type NodeOptions,
  type Resource,
} from "../../components/cluster/testing/testing.ts"
import { Course, IS_TROUBLE, type Trouble } from "./history/course.ts"
import { brokenBy } from "./history/replay.ts"
import { AT_REST, doubles, ORDINAL } from "./invariants.ts"
import type { FaultStep, Named, Program, Step } from "./program.ts"
import { neverHappened, restless } from "./record.ts"
import { FINALIZER, zoneOf } from "./objects/names.ts"
import { nameOf, readerOf, runningContainers, worldOf } from "./world.ts"
import { IMAGES, MENDED } from "./objects/images.ts"
import { PRELOAD } from "./objects/preload.ts"

const SETTLED = "50m"
const REST = "1h"

/** A fault that lasts until `until`, in milliseconds of monotonic time. */
interface Lasting {
  readonly fault: Fault
  readonly until: number
  readonly trouble: Trouble
}

/** Runs a program in a cluster of its own. Returns the violations, one line each; empty if there are none. */
export const run = async (program: Program): Promise<readonly string[]> => (await recorded(program)).problems

/** Runs a program in a cluster of its own. Returns the violations, one line each, and all writes. */
export async function recorded(
  { seed, nodes, steps, servers }: Program,
  options: Pick<ClusterOptions, "skips"> = {},
): Promise<{ readonly problems: readonly string[]; readonly writes: readonly HistoryEntry[] }> {
  const problems: string[] = []
  const cluster = await startCluster({
    seed,
    images: IMAGES,
    ...options,
    ...(servers === undefined ? {} : { servers }),
    nodes: nodes.map((cpu, index) => nodeOptions(cpu, index)),
    preload: PRELOAD,
  })
  const player = new Player(cluster, problems)
  try {
    for (const step of steps) {
      await player.play(step)
      if (problems.length > 0) break
    }
    if (problems.length === 0) {
      await player.mend()
      await cluster.advance(SETTLED)
      // Heartbeats run at their very instants while a rule is there: a lease that was collected is made again.
      const rule = await cluster.faults.requests({ user: "nobody", error: "Forbidden" })
      await cluster.advance("1m")
      await rule.end()
      const world = await worldOf(readerOf(cluster))
      for (const [name, invariant] of Object.entries(AT_REST))
        problems.push(...invariant(world).map((problem) => `${name}: ${problem}`))
      const writes = player.writes()
      problems.push(...neverHappened(writes), ...brokenBy(writes, player.course))
    }
    if (problems.length === 0) {
      const revision = cluster.history().at(-1)?.revision ?? 0
      await cluster.advance(REST)
      problems.push(...restless(cluster.history({ after: revision })))
    }
  } catch (err) {
    problems.push(`the run threw: ${err instanceof Error ? err.stack : String(err)}`)
  }
  const writes = player.writes()
  try {
    await cluster.stop()
  } catch (err) {
    problems.push(`the end threw: ${errorMessage(err)}`)
  }
  return { problems, writes }
}

/** Carries out a program. A request may be refused, because programs are random. */
class Player {
  readonly #cluster: Cluster
  readonly #problems: string[]
  #elapsed = 0
  /** The end of the last fault, in milliseconds since the start of the program. */
  #lastEnd = 0
  #forgets = false
  #lasting: Lasting[] = []
  readonly #troubles: Trouble[] = []
  /** What was written before the history was forgotten. */
  readonly #kept: HistoryEntry[] = []
  readonly #ends: Promise<void>[] = []

  constructor(cluster: Cluster, problems: string[]) {
    this.#cluster = cluster
    this.#problems = problems
  }

  /** What happened so far beside the writes. */
  get course(): Course {
    return new Course(this.#troubles)
  }

  /** Returns all writes so far, also those that the cluster has forgotten. */
  writes(): readonly HistoryEntry[] {
    return [...this.#kept, ...this.#cluster.history({ after: this.#kept.at(-1)?.revision ?? 0 })]
  }

  async play(step: Step): Promise<void> {
    if (step.do === "forgetHistory") this.#kept.push(...this.writes().slice(this.#kept.length))
    if (IS_TROUBLE.has(step.do)) this.#troubled(step.do)
    try {
      await this.#play(step)
    } catch (err) {
      // While something is wrong a node may not start within the patience of the test.
      if (!isRefusal(err) && !(isPatience(err) && this.#lasting.length > 0)) throw err
    }
    // Pods of a Node that was deleted are forgotten by force, though its machine may run on.
    this.#forgets ||= step.do === "deleteNode"
    if (!this.#forgets) this.#problems.push(...doubles(await runningContainers(this.#cluster)))
  }

  /** Ends all faults. */
  async mend(): Promise<void> {
    const cluster = this.#cluster
    for (const [image, behaviour] of Object.entries(MENDED)) cluster.setImage(image, behaviour)
    for (const lasting of this.#lasting.splice(0).reverse()) this.#end(lasting)
    await Promise.all(this.#ends)
    for (const { metadata, spec } of await cluster.list(Node))
      if (spec.unschedulable === true || (spec.taints ?? []).some(({ key }) => key === "hunt"))
        await this.#mended(Node, metadata, {
          spec: {
            unschedulable: null,
            taints: (spec.taints ?? []).filter(
              ({ key }) => key !== "hunt" && key !== "node.kubernetes.io/unschedulable",
            ),
          },
        })
    // They would look at their metrics every 15 seconds of the hours to come.
    for (const { metadata } of await cluster.list(HorizontalPodAutoscaler))
      await cluster.delete(HorizontalPodAutoscaler, { namespace: metadata.namespace, name: metadata.name })
    for (const { metadata } of await cluster.list(ConfigMap))
      if (metadata.finalizers?.includes(FINALIZER) === true)
        await this.#mended(ConfigMap, metadata, { metadata: { finalizers: null } })
    for (const { metadata, spec } of await cluster.list(Pod))
      if ((spec.schedulingGates ?? []).length > 0)
        await this.#mended(Pod, metadata, { spec: { schedulingGates: null } })
    for (const { metadata } of await cluster.list(CronJob))
      await this.#mended(CronJob, metadata, { spec: { suspend: true } })
  }

  /** Changes an object, if it still exists. */
  async #mended(resource: Resource, { namespace, name }: ObjectMeta, body: object): Promise<void> {
    try {
      await this.#cluster.client.patch(resource, { namespace, name }, { type: "merge", body })
    } catch (err) {
      if (!isNotFound(err)) throw err
    }
  }

  async #play(step: Step): Promise<unknown> {
    const cluster = this.#cluster
    switch (step.do) {
      case "apply":
        return cluster.apply(step.object)
      case "patch":
        return cluster.client.patch(this.#kind(step.kind), refOf(step), { type: "merge", body: step.body })
      case "delete":
        return cluster.delete(this.#kind(step.kind), refOf(step), { propagationPolicy: step.propagation })
      case "own":
        return this.#own(step)
      case "addNode":
        return cluster.addNode(nodeOptions(step.cpu, cluster.nodes.length))
      case "deletePod": {
        const pod = await this.#pod(step.nth, step.grace === 0)
        return pod && cluster.delete(Pod, pod, step.grace === undefined ? {} : { gracePeriodSeconds: step.grace })
      }
      case "evict":
        return this.#evict(step.nth)
      case "exit": {
        const pod = await this.#pod(step.nth)
        return pod && cluster.container({ ...pod.metadata, name: pod.metadata.name! })?.exit(step.code)
      }
      case "advance":
        return this.#advance(step.ms)
      case "cordon":
      case "uncordon":
        return cluster.client.patch(
          Node,
          { name: step.node },
          { type: "merge", body: { spec: { unschedulable: step.do === "cordon" } } },
        )
      case "taint":
        return cluster.client.patch(
          Node,
          { name: step.node },
          { type: "strategic", body: { spec: { taints: [{ key: "hunt", value: "on", effect: step.effect }] } } },
        )
      case "deleteNode":
        return cluster.delete(Node, step.node)
      case "dropWatches":
        return cluster.faults.dropWatches()
      case "forgetHistory":
        return cluster.faults.forgetHistory()
      case "clockJump":
        return cluster.faults.clockJump(step.ms)
      case "fault":
        this.#lasting.push({
          fault: await begin(cluster, step.fault),
          until: this.#elapsed + step.ms,
          trouble: this.#troubled(step.fault.is, Infinity),
        })
    }
  }

  async #own(step: Named & { readonly map: string; readonly block: boolean }): Promise<unknown> {
    const owner = await this.#cluster.find(this.#kind(step.kind), refOf(step))
    if (owner === undefined) return undefined
    const { apiVersion, kind, metadata } = owner
    const reference = { apiVersion, kind, name: metadata.name!, uid: metadata.uid!, blockOwnerDeletion: step.block }
    return this.#cluster.client.create(ConfigMap, {
      metadata: { name: step.map, namespace: metadata.namespace ?? "default", ownerReferences: [reference] },
    })
  }

  /** Requests an eviction. A disruption budget that allows none must refuse it. */
  async #evict(nth: number): Promise<void> {
    const { client } = this.#cluster
    const pod = await this.#pod(nth)
    if (pod === undefined) return
    const { items: budgets } = await client.list(PodDisruptionBudget, { namespace: pod.metadata.namespace })
    const { name, namespace } = pod.metadata
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace } }
    await client.createSubresource(Pod, pod.metadata, "eviction", eviction)
    if (!isPodReady(pod) || !isPodActive(pod)) return
    const broken = budgets.filter(
      ({ spec, status }) =>
        fromLabelSelector(spec.selector ?? {}).matches(pod.metadata.labels) && status.disruptionsAllowed <= 0,
    )
    for (const budget of broken)
      this.#problems.push(`${nameOf(pod)} was evicted though ${nameOf(budget)} allowed no disruption`)
  }

  #kind(kind: string) {
    const apiVersion = KIND_VERSIONS[kind] ?? "v1"
    return this.#cluster.kind(apiVersion, kind)
  }

  async #pod(nth: number, force = false): Promise<Pod | undefined> {
    const pods = (await this.#cluster.list(Pod))
      // What is forgotten by force may run on for a while: with the pods of a StatefulSet that is what must not be
      // done.
      .filter(({ metadata }) => !force || !ORDINAL.test(metadata.name ?? ""))
      .sort((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1))
    return pods[nth % Math.max(1, pods.length)]
  }

  /** Advances time, and ends faults when they are due. */
  async #advance(ms: number): Promise<void> {
    const end = this.#elapsed + ms
    for (;;) {
      const next = this.#lasting.toSorted((a, b) => a.until - b.until)[0]
      if (next === undefined || next.until > end) break
      await this.#cluster.advance(Math.max(0, next.until - this.#elapsed))
      this.#elapsed = Math.max(this.#elapsed, next.until)
      this.#lasting = this.#lasting.filter((one) => one !== next)
      this.#end(next)
      await this.#cluster.settle()
    }
    await this.#cluster.advance(end - this.#elapsed)
    this.#elapsed = end
  }

  /** Not awaited: a component that starts while the API server is down has started only when the server is back. */
  #end({ fault, trouble }: Lasting): void {
    const begun = this.#elapsed
    this.#lastEnd = begun
    const ended = fault.end().catch((err: unknown) => {
      // A node that boots waits for the API server, which may be away for longer than a test is patient. The test
      // says so only after a step, when the API server may just be back; at rest the node must be ready.
      const hindered = this.#lasting.length > 0 || this.#lastEnd > begun
      if (!(isPatience(err) && hindered)) this.#problems.push(`a fault did not end: ${String(err)}`)
    })
    this.#ends.push(ended.then(() => void (trouble.to = this.#now())))
  }

  #now(): number {
    return this.#cluster.contextFor().clock.now()
  }

  /** Notes that something is wrong from now on. */
  #troubled(is: string, to = this.#now()): Trouble {
    const trouble = { from: this.#now(), to, is }
    this.#troubles.push(trouble)
    return trouble
  }
}

const nodeOptions = (cpu: number, index: number): NodeOptions => ({
  capacity: { cpu, memory: "8Gi" },
  labels: { "topology.kubernetes.io/zone": zoneOf(index) },
})

const refOf = ({ name, namespace = "default" }: Named) => ({ name, namespace })

const KIND_VERSIONS: Readonly<Record<string, string>> = {
  Deployment: "apps/v1",
  StatefulSet: "apps/v1",
  DaemonSet: "apps/v1",
  ReplicaSet: "apps/v1",
  Job: "batch/v1",
  CronJob: "batch/v1",
  HorizontalPodAutoscaler: "autoscaling/v2",
  PodDisruptionBudget: "policy/v1",
}

const isPatience = (err: unknown): boolean =>
  err instanceof TestClusterError && err.message.startsWith("Not done within")

const isRefusal = (err: unknown): boolean =>
  err instanceof ApiError || (err instanceof Error && err.cause instanceof ApiError)

function begin({ faults }: Cluster, fault: FaultStep): Promise<Fault> {
  switch (fault.is) {
    case "nodeSlow":
      return faults.nodeSlow(fault.node, fault.factor)
    case "kubeletCrashed":
      return faults.crashed({ kubelet: fault.node })
    case "crashed":
      return faults.crashed(fault.component)
    case "imagePull":
      return faults.imagePull(fault.image)
    case "requests": {
      const { is: _is, verb, resource, ...rest } = fault
      return faults.requests({
        ...rest,
        ...(verb === "*" ? {} : { verb }),
        ...(resource === "*" ? {} : { resource }),
      })
    }
    default:
      return faults[fault.is](fault.node)
  }
}
