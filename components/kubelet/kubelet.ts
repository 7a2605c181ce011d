import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { RuntimeClass } from "../../pkg/api/node/v1/runtimeclass.ts"
import { unlessAborted } from "../../pkg/flow/unless-aborted.ts"
import { madeOnce } from "../../pkg/cache/made-once.ts"
import { livingClock } from "../../pkg/clock/living.ts"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import { OwnPorts } from "../../pkg/component/own-ports.ts"
import { KUBELET_PORT, type NodeConnector, type NodeConnectors } from "../../pkg/component/node-connector.ts"
import type { Registry } from "../../pkg/metrics/registry.ts"
import { createEventRecorder } from "../../pkg/controller/event-recorder.ts"
import { AdmissionGate } from "./node/gate.ts"
import { Backoff } from "./model/backoff.ts"
import { tuningOf } from "./model/tuning.ts"
import type { KubeletContext } from "./context.ts"
import type { KubeletConfig } from "./model/config.ts"
import { reportCsiNode } from "./volumes/csi/csi-node.ts"
import { DeviceManager } from "./devicemanager/device-manager.ts"
import { DraManager } from "./dra/dra-manager.ts"
import { nodeDrivers } from "./dra/node-drivers.ts"
import { parseResolvConf } from "./sandbox/dns.ts"
import { createEnvironment } from "./env/environment.ts"
import { DiskReserve } from "./node/disk-reserve.ts"
import { EvictionManager } from "./node/eviction.ts"
import { VolumeUsages } from "./stats/volume-usage.ts"
import { ImageManager } from "./images/image-manager.ts"
import { KubeletMetrics, type KubeletFigures } from "./metrics/kubelet-metrics.ts"
import { measuredCalls } from "./metrics/measured-calls.ts"
import type { Observations } from "./model/pressure.ts"
import { LogRotation } from "./logs/rotate.ts"
import { NodeLease } from "./node/lease.ts"
import { NodeReporter } from "./node/node.ts"
import { reservePids } from "./model/pid-limits.ts"
import { PodWorkers } from "./pod/pod-workers.ts"
import { PodResourcesServer } from "./podresources/pod-resources.ts"
import { ProbeManager } from "./probes/probe-manager.ts"
import { resizeProblem } from "./pod/resources/resize.ts"
import { RuntimeCache } from "./pleg/runtime-cache.ts"
import type { ContainerRuntime } from "./runtime/runtime.ts"
import { aroundCalls } from "./runtime/runtime-calls.ts"
import { tracedCalls } from "./runtime/traced-calls.ts"
import { Slots } from "./model/slots.ts"
import { StaticPods } from "./pod/static-pods.ts"
import type { KubeletPort, KubeletServing } from "./server/port/kubelet-port.ts"
import { StatusManager } from "./status/status-manager.ts"
import { nodeConnector } from "./streaming/node-connector.ts"
import { UserNamespaces } from "./security/user-namespaces.ts"
import { createVolumeManager } from "./volumes/volume-manager.ts"

/** Most sandboxes created at once: more would not be faster on few cores, and each would take longer. */
const STARTING = 6
const CLEARING = 2

/**
 * The node agent: runs the pods that are bound to its node, and reports them and the node. Start reading here, then
 * pod-workers.ts and pod-worker.ts.
 *
 *     informer of pods ─┐
 *     runtime's events ─┼─> PodWorker: plan.ts says what to do, pod-runner.ts does it ─> status/ reports it
 *     probes, timers ───┘
 */
export function createKubelet(component: ComponentContext, options: KubeletOptions): Component {
  return new RunningKubelet(component, options)
}

export interface KubeletOptions extends KubeletConfig {
  readonly runtime: ContainerRuntime
  /** Where the kubelet registers the connections to its pods, for logs, exec and the like. */
  readonly nodes: NodeConnectors
  /**
   * The program's metrics registry, which the kubelet's metrics are added to. Its own /metrics has them in any case.
   */
  readonly metrics?: Registry
  /**
   * Where the kubelet's API is served in addition to nodes/proxy. A simulated node (`"in memory"`) has no port,
   * although its Node shows the usual one.
   */
  readonly serving: KubeletServing | "nowhere" | "in memory"
  /** The node's addresses where they can change, in place of `nodeIps`. */
  readonly addresses?: FollowedAddresses
  /** See KubeletContext; none without it. */
  readonly ownPorts?: OwnPorts
  /** See KubeletContext; without it a pod does not wait. */
  readonly networkReady?: KubeletContext["networkReady"] | undefined
}

export interface FollowedAddresses {
  readonly current: readonly string[]
  /** Calls `listener` after each change, until the function that it returns is called. */
  onChange(listener: () => void): () => void
}

class RunningKubelet implements Component {
  readonly name = "kubelet"
  readonly #component: ComponentContext
  readonly #config: KubeletConfig
  readonly #runtime: ContainerRuntime
  readonly #nodes: NodeConnectors
  readonly #metrics: Registry | undefined
  readonly #serving: KubeletOptions["serving"]
  readonly #networkReady: KubeletContext["networkReady"]
  readonly #ownPorts: OwnPorts
  readonly #addresses: FollowedAddresses | undefined
  #unfollow: () => void = () => {}
  #port: KubeletPort | undefined
  #unregister: () => void = () => {}
  #running: Running | undefined

  constructor(
    component: ComponentContext,
    { runtime, nodes, metrics, serving, networkReady, ownPorts, addresses, ...config }: KubeletOptions,
  ) {
    this.#serving = serving
    this.#networkReady = networkReady ?? (() => Promise.resolve())
    this.#ownPorts = ownPorts ?? new OwnPorts()
    this.#component = component
    this.#metrics = metrics
    this.#nodes = nodes
    this.#addresses = addresses
    this.#config =
      addresses === undefined
        ? config
        : {
            ...config,
            get nodeIps() {
              return addresses.current
            },
          }
    this.#runtime = runtime
  }

  async start(signal: AbortSignal): Promise<void> {
    const events = createEventRecorder(this.#component, "kubelet", this.#config.nodeName)
    const log = this.#component.log.child({ component: "kubelet" })
    const metrics = new KubeletMetrics({
      nodeName: this.#config.nodeName,
      startedAt: this.#component.clock.now(),
      figures: () => this.#figures(),
      shared: this.#metrics,
    })
    const stopping = new AbortController()
    const clock = livingClock(this.#component.clock, stopping.signal)
    const tracing = this.#component.tracing?.of("kubelet")
    const running: Running = assemble(
      {
        ...this.#component,
        clock,
        log,
        config: this.#config,
        runtime: aroundCalls(
          this.#runtime,
          measuredCalls(metrics, clock, tracing === undefined ? undefined : tracedCalls(tracing)),
        ),
        tracing,
        events,
        metrics,
        port: () => this.#portOfNode(),
        ownPorts: this.#ownPorts,
        networkReady: this.#networkReady,
        pidLimits: madeOnce(() => reservePids(running.context)),
      },
      stopping,
    )
    this.#running = running
    const { config } = this
    for (const folder of [config.root, config.podLogs, config.staticPods]) await this.#runtime.files.makeFolder(folder)
    await this.#runtime.volumes.makeShared(config.root)
    if (running.stopping.signal.aborted) return
    this.#component.spawn("runtime events", () => running.cache.run(stopping.signal), stopping.signal)
    this.#component.spawn("arriving images", () => tellArrivals(running), stopping.signal)
    running.lease.start()
    this.#unfollow = this.#addresses?.onChange(() => running.node.wake()) ?? this.#unfollow
    let made: NodeConnector | undefined
    const connector = () => (made ??= nodeConnector({ ...running, problem: () => this.problem() }))
    this.#unregister = this.#nodes.registerLate(config.nodeName, connector)
    await this.#listen(running, connector)
    if (running.stopping.signal.aborted) return
    await running.volumes.restore()
    await running.node.prepare()
    await Promise.all([
      running.dra.start(),
      running.drivers.start(),
      running.devices.start(),
      running.podResources.start(),
    ])
    await running.staticPods.start()
    if (running.stopping.signal.aborted) return
    // The pods and the node start independently of each other.
    await Promise.all([running.node.start(signal), running.workers.start()])
    running.staticPods.mirrorAll()
    const { dra, workers, cache, node } = running
    const reportDrivers = () => reportCsiNode(running.context, () => node.node, stopping.signal)
    if (this.#runtime.csi !== undefined)
      this.#component.spawn("CSI drivers of the node", reportDrivers, stopping.signal)
    this.#component.spawn("devices of pods that ended", () =>
      dra.reconcile((uid) => workers.get(uid) !== undefined || cache.get(uid) !== undefined),
    )
  }

  /** Stops the kubelet; pods keep running. */
  async stop(): Promise<void> {
    const running = this.#running
    if (running === undefined) return
    this.#running = undefined
    this.#unregister()
    this.#unfollow()
    const port = this.#port
    this.#port = undefined
    const { stopping, node, lease, workers, probes, volumes, status, context, logs, staticPods, dra } = running
    const { drivers, devices, podResources } = running
    stopping.abort(new Error("the kubelet is being stopped"))
    lease.stop()
    staticPods.stop()
    workers.stop()
    probes.stopAll()
    logs.stop()
    volumes.stop()
    dra.stop()
    drivers.stop()
    await Promise.all([
      devices.stop(),
      podResources.stop(),
      node.stop(),
      status.stop(),
      context.events.stop(),
      port?.stop(),
    ])
  }

  /** Opens the kubelet's port. If it is taken, that is logged, and everything else works. */
  async #listen({ context, workers, stopping }: Running, connector: () => NodeConnector): Promise<void> {
    const serving = this.#serving
    if (typeof serving === "string") return
    const { client, clock, log, config } = context
    const { openKubeletPort } = await import("./server/port/kubelet-port.ts")
    try {
      const port = await openKubeletPort({
        client,
        clock,
        log,
        nodeName: config.nodeName,
        serving,
        connector: connector(),
        tlsProfile: tuningOf(config).tlsProfile,
        podOf: (namespace, name) =>
          workers.pods().find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
      })
      if (stopping.signal.aborted) await port.stop()
      else this.#port = port
    } catch (err) {
      log.error("Failed to serve the kubelet's API on the node's port", {
        port: serving.port,
        err,
        mend: "free the port and start again, or choose another with --kubelet-port (0 for none)",
      })
    }
  }

  #portOfNode(): number {
    return this.#serving === "in memory" ? KUBELET_PORT : (this.#port?.port ?? 0)
  }

  problem(): string | undefined {
    if (this.#running === undefined) return "it has not started"
    const { cache, node } = this.#running
    if (!cache.synced) return "the container runtime has not answered yet"
    return node.node === undefined ? "the node is not registered yet" : undefined
  }

  #figures(): KubeletFigures {
    const pods = this.#running?.cache.all() ?? []
    const containers: Record<string, number> = {}
    for (const { state } of pods.flatMap((pod) => pod.containers)) containers[state] = (containers[state] ?? 0) + 1
    return { pods: pods.filter(({ sandboxes }) => sandboxes.some(({ ready }) => ready)).length, containers }
  }

  get config(): KubeletConfig {
    return this.#config
  }
}

type Running = ReturnType<typeof assemble>

/** Creates the parts of the kubelet. */
function assemble(context: KubeletContext, stopping: AbortController) {
  const { config, runtime, clock } = context
  const cache = new RuntimeCache(context)
  const status = new StatusManager(context)
  const images = new ImageManager(context, () => node.wake())
  const volumes = createVolumeManager(context, images, () => node.wake())
  const environment = createEnvironment(context)
  const probes = new ProbeManager(context, (uid) => workers.get(uid)?.wake())
  const volumeUsages = new VolumeUsages(context, volumes)
  const devices = new DeviceManager({
    ...context,
    metrics: context.metrics.devices,
    sockets: runtime.plugins,
    files: runtime.files,
    root: config.root,
    folder: config.devicePlugins,
    isActive: (uid) => workers.get(uid)?.isOver === false,
    changed: () => node.wake(),
    healthChanged: (uid) => workers.get(uid)?.wake(),
  })
  const measured = (observations: Observations) => {
    context.spawn("eviction", () => eviction.relieve(observations))
    context.spawn("disk reserve", () => reserve.keep(observations))
  }
  const node: NodeReporter = new NodeReporter(context, measured, devices, volumes)
  const lease = new NodeLease(
    context,
    () => node.node,
    () => node.doubt(),
  )
  const logs = new LogRotation(context, cache)
  const drivers = nodeDrivers(context, devices.plugins === undefined ? {} : { DevicePlugin: devices.plugins })
  const dra = new DraManager({
    ...context,
    drivers: drivers.drivers,
    healths: drivers.healths,
    healthChanged: (uid) => workers.get(uid)?.wake(),
    files: runtime.files,
    root: config.root,
  })
  const podResources = new PodResourcesServer({
    ...context,
    metrics: context.metrics.devices,
    sockets: runtime.plugins,
    files: runtime.files,
    folder: config.podResources,
    devices,
    dra,
    pods: () => workers.all().flatMap(({ isOver, pod }) => (isOver ? [] : [pod])),
  })
  const hostResolver = madeOnce(async () =>
    parseResolvConf(config.resolvConf === "" ? "" : ((await runtime.files.read(config.resolvConf)) ?? "")),
  )
  const gate = new AdmissionGate({ context, node, workers: () => workers, devices })
  const workers: PodWorkers = new PodWorkers({
    context,
    userNamespaces: new UserNamespaces(context),
    cache,
    status,
    images,
    volumes,
    environment,
    dra,
    devices,
    probes,
    logs,
    crashes: new Backoff(clock, tuningOf(config).crashes),
    starting: new Slots(STARTING),
    clearing: new Slots(CLEARING),
    hostResolver,
    runtimeHandler: async (name) => (await context.client.get(RuntimeClass, { name })).handler,
    admit: async (pod, taken, signal) =>
      (await gate.admit(pod, taken, signal)) ?? unlessAborted(devices.admit(pod), signal),
    resizeProblem: (pod) => resizeProblem(pod, workers.othersThan(pod), node.nodeAnyWay?.status.allocatable ?? {}),
  })
  const reserve = new DiskReserve(context, workers)
  const eviction = new EvictionManager({ context, cache, workers, images, volumeUsages })
  const staticPods = new StaticPods(context, workers, () => node.node?.metadata.uid)
  cache.onRelist(() => node.runtimeListed())
  volumes.onUpdate((uid) => workers.get(uid)?.wake())
  drivers.drivers.onRegistered(() => {
    for (const worker of workers.all()) if (usesDevices(worker.pod)) worker.wake()
  })
  return {
    context,
    stopping,
    cache,
    status,
    images,
    volumes,
    volumeUsages,
    environment,
    probes,
    node,
    lease,
    workers,
    logs,
    staticPods,
    dra,
    drivers,
    devices,
    podResources,
  }
}

const usesDevices = ({ spec, status }: Pod): boolean =>
  spec.resourceClaims !== undefined || status.extendedResourceClaimStatus !== undefined

/** Adds images that arrive without a pull to the node's status. */
async function tellArrivals({ context: { runtime }, node, stopping: { signal } }: Running): Promise<void> {
  for (let more = runtime.moreImages?.(); more !== undefined && !signal.aborted; more = runtime.moreImages?.()) {
    await more
    node.wake()
  }
}
