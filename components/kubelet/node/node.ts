import { isAlreadyExists, isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { deepEqual } from "../../../pkg/apimachinery/equal.ts"
import { Node, type ContainerImage, type NodeStatus } from "../../../pkg/api/core/v1/node.ts"
import { sleep, type Timer } from "../../../pkg/clock/clock.ts"
import { GIT_VERSION } from "../../../pkg/version/version.ts"
import type { KubeletContext } from "../context.ts"
import { nodeResources } from "./capacity.ts"
import { CONDITION_EVENTS, nodeConditions } from "./conditions.ts"
import { measurePressure, NO_PRESSURE, type Pressure } from "./pressure.ts"

/** Unchanged, the status is written this often; changed, at once. Source: nodeStatusReportFrequency. */
export const REPORT_MS = 300_000
/** How often the kubelet looks at memory, disk, processes and the runtime of its own accord. Source: pkg/kubelet/eviction monitoring interval, 10 s there. */
export const MEASURE_MS = 10_000
const RETRY_MS = 200
const MAX_IMAGES = 50
const MAX_NAMES = 5

/**
 * The Node object of this machine: made when it is missing, its status kept true. Source: pkg/kubelet/kubelet_node_status.go.
 */
export class NodeReporter {
  readonly #context: KubeletContext
  readonly #stopping = new AbortController()
  /** Folders on the file systems that count. */
  readonly #folders: readonly string[]
  readonly #onPressure: (pressure: Pressure) => void
  #node: Node | undefined
  #pressure = NO_PRESSURE
  #answered = true
  #working = false
  #again = false
  #timer: Timer | undefined
  #measureTimer: Timer | undefined
  #reported = -Infinity

  constructor(context: KubeletContext, folders: readonly string[], onPressure: (pressure: Pressure) => void) {
    this.#context = context
    this.#folders = folders
    this.#onPressure = onPressure
  }

  /** As it is in the API, as far as is known. */
  get node(): Node | undefined {
    return this.#node
  }
  get pressure(): Pressure {
    return this.#pressure
  }

  /** Resolves when the Node is in the API with its first status. */
  async start(signal: AbortSignal): Promise<void> {
    const { clock, log, events, config } = this.#context
    const ending = AbortSignal.any([signal, this.#stopping.signal])
    for (;;) {
      try {
        this.#node = await this.#register()
        await this.#report()
        break
      } catch (err) {
        ending.throwIfAborted()
        log.warn("Cannot register the node, will try again", { node: config.nodeName, err })
        await sleep(clock, RETRY_MS, ending)
      }
    }
    if (ending.aborted) return
    events.event(this.#about, "Normal", "Starting", "Starting kubelet.")
    this.#measureLater()
    if (this.#again) this.wake()
  }

  stop(): void {
    this.#stopping.abort(new Error("the kubelet is being stopped"))
    this.#timer?.cancel()
    this.#measureTimer?.cancel()
  }

  /** Something that the status tells of may have changed. */
  wake(): void {
    if (this.#stopping.signal.aborted) return
    this.#again = true
    if (this.#working || this.#node === undefined) return
    this.#working = true
    this.#context.spawn("node status", () => this.#work())
  }

  async #work(): Promise<void> {
    while (this.#again && !this.#stopping.signal.aborted) {
      this.#again = false
      try {
        await this.#report()
      } catch (err) {
        if (this.#stopping.signal.aborted) break
        this.#context.log.warn("Cannot write the status of the node", { err })
        if (isNotFound(err)) this.#node = await this.#register().catch(() => this.#node)
        this.#timer?.cancel()
        this.#timer = this.#context.clock.setTimeout(() => this.wake(), 1000)
      }
    }
    this.#working = false
  }

  /** Events name the node by its name, since its uid is not known when it starts. `kubectl describe node` looks for that. */
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

  async #register(): Promise<Node> {
    const { client, config, runtime } = this.#context
    const { operatingSystem, architecture } = runtime.machine.info
    const status = await this.#status({
      daemonEndpoints: { kubeletEndpoint: { Port: config.port } },
      nodeInfo: EMPTY_INFO,
    })
    const labels = {
      "beta.kubernetes.io/arch": architecture,
      "beta.kubernetes.io/os": operatingSystem,
      "beta.kubernetes.io/instance-type": "k3ts",
      "kubernetes.io/arch": architecture,
      "kubernetes.io/os": operatingSystem,
      "kubernetes.io/hostname": config.nodeName,
      "node.kubernetes.io/instance-type": "k3ts",
      ...config.labels,
    }
    try {
      const made = await client.create(Node, {
        metadata: {
          name: config.nodeName,
          labels,
          annotations: { "volumes.kubernetes.io/controller-managed-attach-detach": "true" },
        },
        spec: {
          providerID: `k3ts://${config.nodeName}`,
          ...(config.taints.length === 0 ? {} : { taints: config.taints }),
        },
        status,
      })
      this.#tellChanges({ ...status, conditions: [] }, made.status)
      return made
    } catch (err) {
      if (!isAlreadyExists(err)) throw err
    }
    const there = await client.get(Node, { name: config.nodeName })
    if (Object.entries(labels).every(([key, value]) => there.metadata.labels?.[key] === value)) return there
    return client.patch(Node, there.metadata, { type: "merge", body: { metadata: { labels } } })
  }

  async #report(): Promise<void> {
    const { client, clock, config } = this.#context
    const before = this.#node!.status
    const status = await this.#status(before)
    const now = clock.now()
    const same = (left: NodeStatus, right: Partial<NodeStatus>) =>
      deepEqual(comparable(left), comparable({ ...left, ...right }))
    if (now - this.#reported < REPORT_MS && same(before, status)) return
    this.#node = await client.patch(
      Node,
      { name: config.nodeName },
      { type: "strategic", body: { status } },
      { subresource: "status" },
    )
    this.#reported = now
    this.#tellChanges(before, status)
    if (this.#stopping.signal.aborted) return
    this.#timer?.cancel()
    this.#timer = clock.setTimeout(() => this.wake(), REPORT_MS, "upkeep")
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

  async #status(before: NodeStatus): Promise<Partial<NodeStatus>> {
    const { runtime, config, clock } = this.#context
    const [{ problems, version, handlers }, images, disk] = await Promise.all([
      this.#runtimeState(),
      this.#images(),
      runtime.machine.space(config.root),
    ])
    const { capacity, allocatable } = nodeResources(runtime.machine, disk, config.maxPods)
    return {
      addresses: [
        ...config.nodeIps.map((address) => ({ type: "InternalIP", address })),
        { type: "Hostname", address: config.nodeName },
      ],
      capacity,
      allocatable,
      conditions: nodeConditions({
        pressure: this.#pressure,
        problems,
        before: before.conditions ?? [],
        now: clock.now(),
      }),
      daemonEndpoints: { kubeletEndpoint: { Port: config.port } },
      nodeInfo: {
        ...runtime.machine.info,
        containerRuntimeVersion: version,
        kubeletVersion: GIT_VERSION,
        kubeProxyVersion: "",
      },
      images,
      ...(handlers.length === 0 ? {} : { runtimeHandlers: handlers }),
    }
  }

  async #runtimeState() {
    const { containers } = this.#context.runtime
    try {
      const [version, state] = await Promise.all([containers.version(), containers.status()])
      const conditions = state.status?.conditions ?? []
      const problems = ["RuntimeReady", "NetworkReady"].flatMap((wanted) => {
        const condition = conditions.find(({ type }) => type === wanted)
        if (condition?.status === true) return []
        const detail = `${wanted}=false reason:${condition?.reason ?? "unknown"} message:${condition?.message ?? ""}`
        return [
          wanted === "RuntimeReady"
            ? `container runtime not ready: ${detail}`
            : `container runtime network not ready: ${detail}`,
        ]
      })
      const handlers = state.runtimeHandlers.map(({ name, features }) => ({
        name,
        ...(features === undefined
          ? {}
          : {
              features: {
                recursiveReadOnlyMounts: features.recursiveReadOnlyMounts,
                userNamespaces: features.userNamespaces,
              },
            }),
      }))
      return { problems, version: `${version.runtimeName}://${version.runtimeVersion}`, handlers }
    } catch (err) {
      return {
        problems: [`container runtime is down: ${err instanceof Error ? err.message : String(err)}`],
        version: this.#node?.status.nodeInfo.containerRuntimeVersion ?? "",
        handlers: [],
      }
    }
  }

  /** The largest images, as upstream: more would make the Node heavy. */
  async #images(): Promise<readonly ContainerImage[]> {
    try {
      const images = await this.#context.runtime.images.listImages()
      return images
        .toSorted((a, b) => b.size - a.size)
        .slice(0, MAX_IMAGES)
        .map(({ repoDigests, repoTags, size }) => ({
          names: [...repoDigests, ...repoTags].slice(0, MAX_NAMES),
          sizeBytes: size,
        }))
    } catch {
      return this.#node?.status.images ?? []
    }
  }

  async #runtimeAnswers(): Promise<boolean> {
    try {
      await this.#context.runtime.containers.version({ timeoutMs: MEASURE_MS })
      return true
    } catch {
      return false
    }
  }

  #measureLater(): void {
    const measure = async () => {
      try {
        const [pressure, answers] = await Promise.all([
          measurePressure(this.#context.runtime, this.#folders),
          this.#runtimeAnswers(),
        ])
        const changed = !deepEqual(pressure, this.#pressure) || answers !== this.#answered
        this.#answered = answers
        this.#pressure = pressure
        if (changed) this.wake()
        if (pressure.memory || pressure.disk || pressure.pid) this.#onPressure(pressure)
      } catch (err) {
        this.#context.log.warn("Cannot measure what is left of the node", { err })
      }
      if (!this.#stopping.signal.aborted) this.#measureLater()
    }
    this.#measureTimer = this.#context.clock.setTimeout(
      () => this.#context.spawn("node pressure", measure),
      MEASURE_MS,
      "upkeep",
    )
  }
}

const EMPTY_INFO = {
  machineID: "",
  systemUUID: "",
  bootID: "",
  kernelVersion: "",
  osImage: "",
  containerRuntimeVersion: "",
  kubeletVersion: "",
  kubeProxyVersion: "",
  operatingSystem: "",
  architecture: "",
}

/** Without the times of heartbeats, which are no change. */
const comparable = ({ conditions = [], ...rest }: Partial<NodeStatus>): object => ({
  ...rest,
  conditions: conditions
    .map(({ lastHeartbeatTime: _time, ...condition }) => condition)
    .toSorted((a, b) => (a.type < b.type ? -1 : 1)),
})
