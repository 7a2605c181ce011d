import { isAlreadyExists, isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { deepEqual } from "../../../pkg/apimachinery/json/equal.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { type NodeStatus } from "../../../pkg/api/core/v1/node/nodestatus.ts"
import type { Informer } from "../../../pkg/client/informer.ts"
import { sleep, type Timer } from "../../../pkg/clock/clock.ts"
import { OWN_PORTS } from "../../../pkg/component/own-ports.ts"
import { SyncRunner } from "../../../pkg/component/sync-runner.ts"
import type { KubeletContext } from "../context.ts"
import type { DeviceManager } from "../devicemanager/device-manager.ts"
import type { VolumeManager } from "../volumes/volume-manager.ts"
import { CONDITION_EVENTS } from "./conditions.ts"
import { comparable, EMPTY_INFO, readNodeStatus, withRemovals } from "./node-status.ts"
import { LastingPressure } from "./lasting-pressure.ts"
import { nextLookMs, type Look } from "./next-look.ts"
import { NO_PRESSURE, observe, pressureOf, type Observations, type Pressure } from "../model/pressure.ts"
import { DEFAULT_TUNING, tuningOf } from "../model/tuning.ts"

/**
 * Interval in which an unchanged status is written; a changed one is written at once. Source:
 * nodeStatusReportFrequency.
 */
export const REPORT_MS = 300_000
/**
 * First and longest delay before another attempt to register the node. Source: pkg/kubelet/kubelet_node_status.go
 * registerWithAPIServer.
 */
const FIRST_RETRY_MS = 100
const LAST_RETRY_MS = 7000
/** Delay before another attempt to write the status. */
const RETRY_MS = 1000
/** How long after its start a node looks more often whether it is ready, and how often. Source: nodeReadyGracePeriod. */
const STARTING_MS = 120_000
const NOT_READY_MS = 100

/**
 * Creates the Node of this machine when it is missing, and keeps its status up to date. Source:
 * pkg/kubelet/kubelet_node_status.go.
 */
export class NodeReporter {
  readonly #context: KubeletContext
  readonly #stopping = new AbortController()
  readonly #devices: Pick<DeviceManager, "amounts">
  readonly #volumes: Pick<VolumeManager, "inUse">
  readonly #onMeasured: (observations: Observations) => void
  readonly #informer: Informer<Node>
  /** The Node as the kubelet would create it, for pod admission before the API has it. */
  #initial: Node | undefined
  #node: Node | undefined
  readonly #lasting = new LastingPressure()
  #pressure = NO_PRESSURE
  #look: Look | undefined
  #answered = true
  readonly #runner: SyncRunner
  #timer: Timer | undefined
  #measureTimer: Timer | undefined
  #readyTimer: Timer | undefined
  #unfollow: () => void = () => {}
  #startedAt = 0
  #reported = -Infinity
  /** Whether the Node was made by this kubelet, and ready at once. */
  #isMadeReady = false

  /** `onMeasured` is called after each measurement of the node. */
  constructor(
    context: KubeletContext,
    onMeasured: (observations: Observations) => void,
    devices: Pick<DeviceManager, "amounts">,
    volumes: Pick<VolumeManager, "inUse">,
  ) {
    this.#context = context
    this.#devices = devices
    this.#volumes = volumes
    this.#onMeasured = onMeasured
    // The informer starts early, so that the Node is known when the first pod is checked.
    this.#informer = context.informers.of(Node)
    this.#runner = new SyncRunner({
      clock: context.clock,
      sync: () => this.#sync(),
      failed: (err) => {
        if (!this.#stopping.signal.aborted) context.log.warn("Failed to write the status of the node", { err })
        return RETRY_MS
      },
    })
  }

  /** The Node of the API; undefined until it has been registered. */
  get node(): Node | undefined {
    const own = this.#node
    if (own === undefined) return undefined
    const seen = this.#informer.get(own.metadata.name!)
    return seen !== undefined && Number(seen.metadata.resourceVersion) > Number(own.metadata.resourceVersion)
      ? seen
      : own
  }

  /**
   * The Node for pod admission: the stored one, or the one to be registered. Source: pkg/kubelet/kubelet_getters.go
   * getNodeAnyWay.
   */
  get nodeAnyWay(): Node | undefined {
    return this.node ?? this.#initial
  }

  /** Determines the state of the node without the API. Called before pods are started. */
  async prepare(): Promise<void> {
    this.#initial = await this.#wanted()
  }
  get pressure(): Pressure {
    return this.#pressure
  }

  /** Resolves when the API has the Node with its first status. */
  async start(signal: AbortSignal): Promise<void> {
    const { clock, log, events, config } = this.#context
    const ending = AbortSignal.any([signal, this.#stopping.signal])
    this.#startedAt = clock.now()
    let waitMs = FIRST_RETRY_MS
    for (let wanted = this.#initial; ; wanted = undefined) {
      try {
        this.#node = await this.#register(wanted)
        if (this.#reported === -Infinity) await this.#report()
        break
      } catch (err) {
        ending.throwIfAborted()
        log.warn("Failed to register the node; will retry", { node: config.nodeName, err })
        await sleep(clock, waitMs, ending)
        waitMs = Math.min(waitMs * 2, LAST_RETRY_MS)
      }
    }
    if (ending.aborted) return
    this.#unfollow = this.#context.ownPorts.onChange(() => this.wake())
    events.event(this.#about, "Normal", "Starting", "Starting kubelet.")
    this.#measureLater()
    // A Node that was made a moment ago, and is ready, shows all but devices that were known before a restart; what
    // changes from its making on wakes by itself.
    if (!this.#isMadeReady || Object.keys(this.#devices.amounts(undefined).capacity).length > 0) this.wake()
    this.#context.spawn("node status", () => this.#runner.start())
  }

  /** Resolves when the write of the status that is under way has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the kubelet is being stopped"))
    this.#timer?.cancel()
    this.#measureTimer?.cancel()
    this.#readyTimer?.cancel()
    this.#unfollow()
    await this.#runner.stop()
  }

  /** Called when the runtime is available (again) and everything was listed. */
  runtimeListed(): void {
    // The first list is a part of the start: the first status, which is still to be read, shows what it has found.
    if (this.#initial !== undefined) this.wake()
  }

  /** Called when something in the status may have changed. */
  wake(): void {
    this.#runner.request()
  }

  /**
   * Called when the Node may have been deleted: its status is written even if unchanged, which fails for a deleted
   * Node.
   */
  doubt(): void {
    this.#reported = -Infinity
    this.wake()
  }

  async #sync(): Promise<void> {
    try {
      await this.#report()
    } catch (err) {
      if (isNotFound(err) && !this.#stopping.signal.aborted) this.#node = await this.#register().catch(() => this.#node)
      throw err
    }
  }

  /**
   * Events refer to the node by its name instead of its uid, which is unknown at the start. `kubectl describe node`
   * searches for that.
   */
  get #about(): Node {
    const { nodeName } = this.#context.config
    return {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: nodeName, uid: nodeName },
      spec: {},
      status: { daemonEndpoints: { kubeletEndpoint: { Port: 0 } }, nodeInfo: EMPTY_INFO },
    }
  }

  /** Returns the Node to register. */
  async #wanted(): Promise<Node> {
    const { config, runtime } = this.#context
    const { operatingSystem, architecture } = runtime.machine.info
    const before = { daemonEndpoints: { kubeletEndpoint: { Port: this.#context.port() } }, nodeInfo: EMPTY_INFO }
    return {
      apiVersion: "v1",
      kind: "Node",
      metadata: {
        name: config.nodeName,
        labels: {
          "beta.kubernetes.io/arch": architecture,
          "beta.kubernetes.io/os": operatingSystem,
          "beta.kubernetes.io/instance-type": "k3ts",
          "kubernetes.io/arch": architecture,
          "kubernetes.io/os": operatingSystem,
          "kubernetes.io/hostname": config.nodeName,
          "node.kubernetes.io/instance-type": "k3ts",
          ...config.labels,
        },
        annotations: {
          "volumes.kubernetes.io/controller-managed-attach-detach": "true",
          ...(this.#context.ownPorts.text === "" ? {} : { [OWN_PORTS]: this.#context.ownPorts.text }),
        },
      },
      spec: {
        providerID: `k3ts://${config.nodeName}`,
        ...(config.taints.length === 0 ? {} : { taints: config.taints }),
      },
      status: {
        ...before,
        ...(await readNodeStatus(this.#context, before, this.#pressure, {
          devices: this.#devices.amounts(undefined),
          volumesInUse: undefined,
        })),
      },
    }
  }

  async #register(known?: Node): Promise<Node> {
    const { client, config, clock } = this.#context
    const { metadata, spec, status } = known ?? (await this.#wanted())
    try {
      const made = await client.create(Node, { metadata, spec, status })
      // A new Node has its status, which is written again only if it has changed meanwhile.
      this.#hasReported(clock.now())
      this.#isMadeReady = isReady(made.status)
      this.#tellChanges({ conditions: [] }, made.status)
      return made
    } catch (err) {
      if (!isAlreadyExists(err)) throw err
    }
    const labels = metadata.labels!
    const there = await client.get(Node, { name: config.nodeName })
    if (Object.entries(labels).every(([key, value]) => there.metadata.labels?.[key] === value)) return there
    const body = { metadata: { labels } }
    return client.patch(Node, there.metadata, { type: "strategic", body }, { subresource: "status" })
  }

  /** The scheduler reads the ports from the Node. They change when a part opens or closes one. */
  async #reportOwnPorts(): Promise<void> {
    const { client, ownPorts } = this.#context
    const { metadata } = this.node!
    const { text } = ownPorts
    if (text === "" || metadata.annotations?.[OWN_PORTS] === text) return
    const body = { metadata: { annotations: { [OWN_PORTS]: text } } }
    this.#node = await client.patch(Node, metadata, { type: "strategic", body }, { subresource: "status" })
  }

  async #report(): Promise<void> {
    await this.#reportOwnPorts()
    const { client, clock, config } = this.#context
    const known = this.node!
    const before = known.status
    const status = await readNodeStatus(this.#context, before, this.#pressure, {
      devices: this.#devices.amounts(before.capacity),
      volumesInUse: this.#volumes.inUse(),
    })
    const now = clock.now()
    this.#lookAgainUntilReady(status, now)
    const same = deepEqual(comparable(before), comparable({ ...before, ...status }))
    if (now - this.#reported < REPORT_MS && same) {
      this.#node = known
      return
    }
    this.#node = await client.patch(
      Node,
      { name: config.nodeName },
      { type: "strategic", body: { status: withRemovals(before, status) } },
      { subresource: "status" },
    )
    this.#hasReported(now)
    this.#tellChanges(before, status)
  }

  #hasReported(now: number): void {
    this.#reported = now
    if (this.#stopping.signal.aborted) return
    this.#timer?.cancel()
    this.#timer = this.#context.clock.setTimeout(() => this.wake(), REPORT_MS, "upkeep")
  }

  /**
   * A node that has just started is not ready until the network's configuration has come, of which nobody tells the
   * kubelet. Source: kubelet.go fastStatusUpdateOnce.
   */
  #lookAgainUntilReady(status: Partial<NodeStatus>, now: number): void {
    this.#readyTimer?.cancel()
    if (isReady(status) || this.#stopping.signal.aborted || now - this.#startedAt >= STARTING_MS) return
    this.#readyTimer = this.#context.clock.setTimeout(() => this.wake(), NOT_READY_MS, "upkeep")
  }

  #tellChanges(before: Pick<NodeStatus, "conditions">, { conditions = [] }: Partial<NodeStatus>): void {
    const { events, config } = this.#context
    for (const { type, status } of conditions) {
      const old = before.conditions?.find((condition) => condition.type === type)
      const names = CONDITION_EVENTS[type]
      if (old?.status === status || names === undefined) continue
      const reason = status === "True" ? names[0] : names[1]
      events.event(this.#about, "Normal", reason, `Node ${config.nodeName} status is now: ${reason}`)
    }
  }

  async #runtimeAnswers(): Promise<boolean> {
    try {
      await this.#context.runtime.containers.version({ timeoutMs: DEFAULT_TUNING.measureMs })
      return true
    } catch {
      return false
    }
  }

  #measureLater(afterMs = tuningOf(this.#context.config).measureMs): void {
    const measure = async () => {
      let nextMs: number | undefined
      try {
        const { clock, runtime, config } = this.#context
        const answers = await this.#runtimeAnswers()
        // Last, since a pod that has ended meanwhile has given back what it had.
        const observations = await observe(runtime, config.root)
        const { eviction, measureMs } = tuningOf(config)
        const look = { at: clock.monotonic(), observations }
        nextMs = nextLookMs(this.#look, look, eviction.hard, measureMs)
        this.#look = look
        const observed = pressureOf(observations, eviction)
        const pressure = this.#lasting.after(observed, clock.monotonic(), eviction.transitionMs)
        const changed = !deepEqual(pressure, this.#pressure) || answers !== this.#answered
        this.#answered = answers
        this.#pressure = pressure
        // Other programs may have changed the Node or its status. Upstream's syncNodeStatus checks every 10 s too.
        if (changed || this.node !== this.#node) this.wake()
        this.#onMeasured(observations)
      } catch (err) {
        this.#context.log.warn("Failed to measure the node's free resources", { err })
      }
      if (!this.#stopping.signal.aborted) this.#measureLater(nextMs)
    }
    this.#measureTimer = this.#context.clock.setTimeout(
      () => this.#context.spawn("node pressure", measure),
      afterMs,
      "upkeep",
    )
  }
}

const isReady = ({ conditions = [] }: Pick<NodeStatus, "conditions">): boolean =>
  conditions.some(({ type, status }) => type === "Ready" && status === "True")
