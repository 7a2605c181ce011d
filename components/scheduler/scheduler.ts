import { Namespace } from "../../pkg/api/core/v1/namespace.ts"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { PodDisruptionBudget } from "../../pkg/api/policy/v1/poddisruptionbudget.ts"
import { keyFrom } from "../../pkg/client/informer.ts"
import { loaded } from "../../pkg/clock/clock.ts"
import { traced, type Tracing } from "../../pkg/tracing/tracing.ts"
import type { Logger } from "../../pkg/log/log.ts"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import { editionOf } from "../../pkg/quarantine/edition.ts"
import type { QuarantinePlace } from "../../pkg/quarantine/quarantine.ts"
import { skippedBy } from "../../pkg/quarantine/seam.ts"
import { contain } from "../../pkg/failure/contain.ts"
import { ReserveError, type Kept } from "./binding-cycle.ts"
import { ClaimWaits } from "./claim-waits.ts"
import { Cache } from "./cache.ts"
import type { SchedulerSettings } from "./config/scheduler-settings.ts"
import type { Decision } from "./decision.ts"
import { DECISIONS_PER_TURN } from "./decisions-per-turn.ts"
import type { CreateExternals, Externals } from "./externals.ts"
import type { ExternalBinding } from "./external/external-binding.ts"
import type { ClusterAction, Diagnosis } from "./framework.ts"
import { DEVICE_KINDS, followObjects } from "./event-handlers.ts"
import { Nominations } from "./nominations.ts"
import type { SchedulerObserver } from "./observer.ts"
import { findVictims } from "./preemption.ts"
import type { PodGroups, PodGroupsConfig, PodGroupTools } from "./pod-groups.ts"
import { createProfiles, type Profile } from "./profile.ts"
import { DEFAULT_BACKOFFS, SchedulingQueue } from "./queue.ts"
import type { QueuedPod } from "./queued-pod.ts"
import { fail, refuse } from "./refusal-cycle.ts"
import { findNode } from "./schedule-one.ts"
import { podName } from "./scheduling-context.ts"
import { VOLUME_KINDS } from "./volumebinding/volume-objects.ts"

export interface SchedulerConfig {
  readonly observer?: SchedulerObserver
  /** The profiles and what they share; one profile with upstream's defaults unless given. */
  readonly settings?: SchedulerSettings | undefined
  /** Makes the plugins of one's own and the extenders of the profiles; none unless given. */
  readonly externals?: CreateExternals | undefined
  /** Schedules pods with their groups; absent where the gate is off. */
  readonly podGroups?: PodGroupsConfig | undefined
  /** Returns the name of the node that a pod gets of equal ones; chance decides unless given. */
  readonly prefers?: ((pod: Pod) => string | undefined) | undefined
  /** The machine that Events name as the place of the scheduler. */
  readonly host?: string | undefined
}

export interface Scheduler extends Component {
  /** No pod is being scheduled and no binding is being written; pods may wait for events. */
  readonly idle: boolean
  /** Why a pod fits no node, from its last attempt; undefined when it was never refused. */
  diagnosis(pod: Pod): Diagnosis | undefined
}

const SET_ASIDE = { action: "Scheduling", note: skippedBy("scheduler") }

/** Binds pods to nodes. Source: pkg/scheduler/scheduler.go, schedule_one.go, eventhandlers.go. */
export const createScheduler = (context: ComponentContext, config: SchedulerConfig = {}): Scheduler =>
  new SchedulingLoop(context, config)

class SchedulingLoop implements Scheduler {
  readonly name = "scheduler"
  readonly #component: ComponentContext
  readonly #log: Logger
  readonly #settings: SchedulerSettings | undefined
  readonly #observer: SchedulerObserver | undefined
  readonly #cache = new Cache()
  readonly #nominations = new Nominations()
  readonly #queue: SchedulingQueue
  readonly #profiles: ReadonlyMap<string, Profile>
  readonly #externals: Externals | undefined
  readonly #podGroups: PodGroupsConfig | undefined
  #groups: PodGroups | undefined
  readonly #tracing: Tracing | undefined
  readonly #place: QuarantinePlace | undefined
  readonly #diagnoses = new Map<string, Diagnosis>()
  /** Bindings and refusals that are being written. */
  readonly #underWay = new Set<Promise<void>>()
  #unfollow = (): void => undefined
  /** Notifies bindings of changes of their claims; undefined before the first start. */
  #claimWaits: ClaimWaits | undefined
  /** Aborts bindings that wait for volumes when the scheduler stops. */
  #stopping = new AbortController()
  #running = false
  #awake = false
  #startAt = 0

  constructor(context: ComponentContext, { observer, settings, externals, podGroups, prefers, host }: SchedulerConfig) {
    this.#podGroups = podGroups
    this.#component = context
    this.#tracing = context.tracing?.of("kube-scheduler")
    this.#log = context.log.child({ component: "scheduler" })
    this.#place = context.quarantine?.place("scheduler")
    this.#observer = observer
    this.#settings = settings
    const pluginsFor = (pod: Pod) => {
      const profile = this.#profileOf(pod)
      return this.#groups?.belongs(pod) === true ? this.#groups.pluginsOf(profile) : profile.plugins
    }
    const backoffs = settings && { initialMs: settings.initialBackoffMs, maxMs: settings.maxBackoffMs }
    const hooks = externals && {
      sortKey: (pod: Pod) => this.#profileOf(pod).plugins.find(({ sortKey }) => sortKey !== undefined)?.sortKey!(pod),
      happened: (action: ClusterAction) => this.#externals?.happened(action),
    }
    const wake = () => this.#wake()
    const incoming = observer && observer.incoming.bind(observer)
    this.#queue = new SchedulingQueue(context.clock, pluginsFor, wake, backoffs ?? DEFAULT_BACKOFFS, hooks, incoming)
    this.#externals = externals?.({
      clock: context.clock,
      log: this.#log,
      informers: context.informers,
      cache: this.#cache,
      observer,
      recheck: (pod) => this.#queue.recheckGated(pod),
      conclude: (queued, decision, started, profile, external) =>
        this.#running ? this.#conclude(queued, decision, started, profile, external) : undefined,
      drop: (pod) => this.#queue.done(pod),
      contain: (queued, err) => this.#contain(queued, err),
    })
    this.#profiles = createProfiles(
      context,
      {
        cache: this.#cache,
        nominations: this.#nominations,
        queue: this.#queue,
        observer,
        prefers,
        host,
        externalsOf: (profile) => this.#externals?.of(profile) ?? [],
        isRunning: () => this.#running,
      },
      settings,
    )
  }

  /** The queue has pods of the profiles only. */
  #profileOf({ spec }: Pod): Profile {
    return this.#profiles.get(spec.schedulerName)!
  }

  get idle(): boolean {
    return this.#queue.sizes.active === 0 && this.#underWay.size === 0 && !this.#awake
  }

  problem(): string | undefined {
    return this.#running ? undefined : "it is not running"
  }

  diagnosis(pod: Pod): Diagnosis | undefined {
    return this.#diagnoses.get(pod.metadata.uid ?? "")
  }

  async start(signal: AbortSignal): Promise<void> {
    const { informers } = this.#component
    const kinds = [Node, Pod, PodDisruptionBudget, Namespace, ...VOLUME_KINDS, ...DEVICE_KINDS]
    await Promise.all(kinds.map((resource) => informers.of(resource).whenSynced()))
    signal.throwIfAborted()
    this.#claimWaits = new ClaimWaits(informers)
    if (this.#podGroups?.isServed() === true)
      this.#groups = (await loaded(this.#component.clock, this.#podGroups.load()))(this.#groupTools())
    const unfollowGroups = await this.#groups?.follow()
    signal.throwIfAborted()
    const { meaningless = [] } = this.#settings ?? {}
    if (meaningless.length > 0)
      this.#log.info("Fields of the KubeSchedulerConfiguration have no meaning here", {
        fields: meaningless.join(", "),
      })
    const unfollow = followObjects({
      informers,
      groups: this.#groups,
      names: this.#profiles,
      cache: this.#cache,
      queue: this.#queue,
      nominations: this.#nominations,
      diagnoses: this.#diagnoses,
    })
    this.#unfollow = () => {
      unfollow()
      unfollowGroups?.()
    }
    this.#stopping = new AbortController()
    this.#running = true
    this.#wake()
  }

  async stop(): Promise<void> {
    this.#running = false
    this.#stopping.abort(new Error("the scheduler is being stopped"))
    this.#unfollow()
    this.#claimWaits?.stop()
    this.#queue.stop()
    await this.#externals?.stop()
    await Promise.allSettled(this.#underWay)
    await Promise.all([...this.#profiles.values()].map(({ context }) => context.events.stop()))
  }

  #wake(): void {
    if (this.#awake || !this.#running) return
    this.#awake = true
    this.#component.clock.afterTurn(() => this.#work())
  }

  /** Schedules the pods of one turn. */
  #work(): void {
    const [queue, observer] = [this.#queue, this.#observer]
    this.#awake = false
    for (let i = 0; this.#running && i < DECISIONS_PER_TURN; i++) {
      const queued = queue.pop()
      if (queued === undefined) {
        observer?.pending(queue.sizes)
        return
      }
      try {
        if (this.#tracing === undefined) void this.#scheduleOne(queued)
        else this.#scheduleTraced(queued, this.#tracing)
      } catch (err) {
        this.#contain(queued, err)
      }
    }
    observer?.pending(queue.sizes)
    this.#wake()
  }

  /** Tries the one pod again after its back-off; the next one has its turn. */
  #contain(queued: QueuedPod, err: unknown): void {
    contain("scheduling", err, this.#log, { pod: podName(queued.pod) })
    this.#observer?.attempted("error", 0, queued.pod.spec.schedulerName)
    if (this.#cache.isAssumed(queued.pod)) this.#cache.forget(queued.pod)
    this.#queue.failed(queued, new Set())
  }

  /** Schedules a pod as part of the trace of what made it, or changed it last. */
  #scheduleTraced(queued: QueuedPod, tracing: Tracing): void {
    const { namespace, name, uid, resourceVersion } = queued.pod.metadata
    const cause = tracing.causes.of(resourceVersion)
    const span = tracing.root("Schedule pod", {
      causes: cause === undefined ? [] : [cause],
      attributes: { "k8s.pod.uid": uid, "k8s.namespace.name": namespace, "k8s.pod.name": name },
    })
    // Ends with what is written in the background, if anything is.
    const writing = tracing.within(span, () => this.#scheduleOne(queued))
    if (writing === undefined) span.end()
    else void writing.finally(() => span.end())
  }

  /** Returns what is written in the background; undefined for nothing. */
  #scheduleOne(queued: QueuedPod): Promise<void> | undefined {
    const { pod } = queued
    const profile = this.#profileOf(pod)
    const { clock } = profile.context
    if (pod.metadata.deletionTimestamp !== undefined || this.#cache.isAssumed(pod)) {
      this.#queue.done(pod)
      return undefined
    }
    const started = clock.monotonic()
    if (this.#isHeldBack(queued)) return undefined
    if (this.#groups?.belongs(pod) === true) {
      this.#groups.schedule(queued)
      return undefined
    }
    if (profile.externals.length > 0) {
      const externals = profile.externals.filter((external) => external.concerns(pod))
      if (externals.length > 0) return this.#inBackground(this.#externals!.schedule(queued, profile, externals))
    }
    const place = this.#place
    const decision =
      place === undefined
        ? this.#decide(pod, profile)
        : place.while(keyFrom(pod.metadata), () => this.#decide(pod, profile))
    return this.#conclude(queued, decision, started, profile)
  }

  /** Carries a decision out. Returns what is written in the background; undefined for nothing. */
  #conclude(
    queued: QueuedPod,
    decision: Decision,
    started: number,
    profile: Profile,
    external?: ExternalBinding,
  ): Promise<void> | undefined {
    const { pod } = queued
    const { clock, observer } = profile.context
    if ("node" in decision) return this.#assume(queued, decision.node, started, profile, external)
    if ("error" in decision) {
      this.#diagnoses.delete(pod.metadata.uid ?? "")
      observer?.attempted("error", clock.monotonic() - started, profile.name)
      return this.#inBackground(fail(queued, decision.error, profile.context))
    }
    this.#diagnoses.set(pod.metadata.uid ?? "", decision.diagnosis)
    observer?.attempted("unschedulable", clock.monotonic() - started, profile.name)
    return this.#inBackground(traced(this.#tracing, "Refuse pod", () => refuse(queued, decision, profile.context)))
  }

  /** Finds a node for the pod, or the pods whose end makes room for it. */
  #decide(pod: Pod, { context }: Profile): Decision {
    const { clock, cycle, observer, informers } = context
    const started = clock.monotonic()
    const { outcome, looked } = traced(this.#tracing, "Scheduling cycle", () => findNode(pod, cycle, this.#startAt))
    observer?.searched(clock.monotonic() - started)
    const nodes = cycle.cache.list.length
    this.#startAt = nodes === 0 ? 0 : (this.#startAt + looked) % nodes
    if (!("diagnosis" in outcome)) return outcome
    const budgets = informers.of(PodDisruptionBudget).list(pod.metadata.namespace)
    const looking = cycle.timed?.now() ?? 0
    const preemption = findVictims(pod, outcome.diagnosis, cycle, budgets)
    const victims = "candidate" in preemption ? preemption.candidate.victims.length : undefined
    cycle.timed?.ended("PostFilter", victims === undefined ? "Unschedulable" : "Success", looking)
    observer?.preempted(victims)
    return { ...outcome, preemption }
  }

  /** Whether work on the pod may end the process: then it waits for its trial, or is skipped until it is edited. */
  #isHeldBack(queued: QueuedPod): boolean {
    const { pod } = queued
    const fate = this.#place?.fate(keyFrom(pod.metadata), () => editionOf(pod)) ?? "go"
    if (fate === "go") return false
    if (fate === "skip") this.#profileOf(pod).context.events.event(pod, "Warning", "SetAside", SET_ASIDE)
    this.#queue.failed(queued, new Set())
    return true
  }

  /** Counts the pod as one of its node, and writes the binding in the background. */
  #assume(
    queued: QueuedPod,
    node: string,
    started: number,
    profile: Profile,
    external: ExternalBinding | undefined,
  ): Promise<void> | undefined {
    const { context, binding } = profile
    const { log, cycle, queue } = context
    const { pod } = queued
    let kept: readonly Kept[]
    try {
      kept = this.#reserve(pod, node, profile)
    } catch (err) {
      if (!(err instanceof ReserveError)) throw err
      log.warn("Reserving failed; will retry", { pod: podName(pod), err })
      external?.drop()
      queue.failed(queued, new Set())
      return err.kept.length === 0 ? undefined : this.#inBackground(binding.unreserve(pod, err.kept))
    }
    cycle.cache.assume(pod, node)
    return this.#bind(queued, node, started, profile, kept, external)
  }

  /** Keeps for the pod what it gets on the node. @throws ReserveError */
  #reserve(pod: Pod, node: string, { context, binding }: Profile): readonly Kept[] {
    const { client, informers, clock, events, cycle } = context
    const reserving = cycle.timed?.now() ?? 0
    const tools = { client, informers, clock, events, waits: this.#claimWaits!, signal: this.#stopping.signal }
    const kept = binding.reserve(pod, cycle.cache.get(node)!, tools)
    cycle.timed?.ended("Reserve", "Success", reserving)
    return kept
  }

  /** Writes the binding of a pod that counts as one of its node already. */
  #bind(
    queued: QueuedPod,
    node: string,
    started: number,
    { binding }: Profile,
    kept: readonly Kept[],
    external?: ExternalBinding,
  ): Promise<void> {
    this.#diagnoses.delete(queued.pod.metadata.uid ?? "")
    const bind = () => binding.bind(queued, node, started, kept, external)
    return this.#inBackground(traced(this.#tracing, "Binding cycle", bind, { "k8s.node.name": node }))
  }

  #groupTools(): PodGroupTools {
    const { client, informers, clock, random } = this.#component
    return {
      client,
      informers,
      clock,
      random,
      log: this.#log,
      features: this.#podGroups!.features,
      cache: this.#cache,
      queue: this.#queue,
      nominations: this.#nominations,
      profileOf: (pod) => this.#profileOf(pod),
      reserve: (pod, node, profile) => this.#reserve(pod, node, profile),
      bind: (queued, node, started, profile, kept) => void this.#bind(queued, node, started, profile, kept),
      diagnosed: (pod, diagnosis) => void this.#diagnoses.set(pod.metadata.uid ?? "", diagnosis),
      inBackground: (task) => this.#inBackground(task),
      contain: (queued, err) => this.#contain(queued, err),
      isRunning: () => this.#running,
    }
  }

  #inBackground(task: Promise<void>): Promise<void> {
    this.#underWay.add(task)
    void task.finally(() => this.#underWay.delete(task))
    return task
  }
}
