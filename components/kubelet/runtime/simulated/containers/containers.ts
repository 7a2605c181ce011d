import type { Clock } from "../../../../../pkg/clock/clock.ts"
import type { Random } from "../../../../../pkg/clock/random.ts"
import { CriError } from "../../../../../pkg/cri/errors.ts"
import type { Container, ContainerConfig } from "../../../../../pkg/cri/container.ts"
import type { ContainerEvent } from "../../../../../pkg/cri/container-event.ts"
import type { PodSandbox, PodSandboxConfig, PodSandboxStatus } from "../../../../../pkg/cri/sandbox.ts"
import type { AttachRequest, ExecRequest, RuntimeService } from "../../../../../pkg/cri/service.ts"
import type { ContainerStats, PodSandboxStats } from "../../../../../pkg/cri/stats.ts"
import { SharedParts } from "../../../../../pkg/cache/shared-parts.ts"
import { familiar, type ImageBehaviour, type ImageBehaviours } from "./behaviour.ts"
import { NodeAddress, PodAddress } from "./address.ts"
import { EventFeed } from "./event-feed.ts"
import { SimulatedContainer, type SimulatedContainerOptions } from "./container.ts"
import { execSync } from "./exec-sync.ts"
import { sandboxOf, type RunOfContainer, type RunningPod } from "./running-pod.ts"
import { runtimeStatus } from "./runtime-status.ts"
import { SandboxChanges } from "./changes.ts"
import { simulatedForesight } from "./foresight.ts"
import type { ProbeForesight } from "../../probe-foresight.ts"
import type { NodeFaults } from "../faults.ts"
import type { SimulatedImages } from "../images.ts"
import type { MemoryFiles } from "../machine/memory-files.ts"
import type { SimulatedNetwork } from "../machine/network.ts"
import { listedSandbox, runningAs, sandboxStatus, type Sandbox } from "./sandbox.ts"
import { containerId } from "./container-id.ts"
import { containerStats, sandboxStats, sumOf, type SimulatedUse } from "./stats.ts"
import type { SimulatedStreams } from "./streams.ts"

export interface SimulatedContainersOptions {
  readonly node: string
  /** The node's addresses, the main one first. */
  readonly nodeIps: readonly string[]
  readonly clock: Clock
  readonly random: Random
  readonly behaviours: ImageBehaviours
  readonly network: SimulatedNetwork
  readonly images: SimulatedImages
  readonly files: MemoryFiles
  readonly faults: NodeFaults
  readonly streams: SimulatedStreams
  /** Returns free addresses for a pod of this node, one of each family of its ranges. */
  allotIps(): readonly string[]
}

/** Shared by all sandboxes without annotations. */
const NONE = {}
const isEmpty = (annotations: object | undefined): boolean => Object.keys(annotations ?? NONE).length === 0

/** The configurations of containers, most of which are alike, also on different nodes. */
const configs = new SharedParts()

/**
 * The sandboxes and containers of one simulated node, in memory. They survive a restart of the kubelet, as those of
 * containerd do.
 */
export class SimulatedContainers implements RuntimeService {
  readonly #options: SimulatedContainersOptions
  readonly #sandboxes = new Map<string, Sandbox>()
  readonly #containers = new Map<string, SimulatedContainer>()
  readonly #hostNetwork = new Set<Sandbox>()
  readonly #events = new EventFeed()
  readonly #changes = new SandboxChanges()
  readonly foresight: ProbeForesight

  constructor(options: SimulatedContainersOptions) {
    this.#options = options
    const { network, nodeIps, faults, node } = options
    network.addNode(node, faults)
    faults.changed = () => this.#changes.tellAll()
    this.foresight = simulatedForesight({
      faults,
      network,
      changes: this.#changes,
      container: (id) => this.#containers.get(id),
      sandbox: (id) => this.#sandboxes.get(id),
    })
    const address = new NodeAddress(node, this.#hostNetwork)
    for (const ip of nodeIps) network.join(ip, address)
  }

  /** The usage of all containers of the node. */
  get inUse(): SimulatedUse {
    return sumOf(this.#containers.values())
  }

  /** Returns the usage of all containers of a pod; undefined when it has none. */
  useOfPod(uid: string): SimulatedUse | undefined {
    const own = [...this.#containers.values()].filter(({ pod }) => pod.uid === uid)
    return own.length === 0 ? undefined : sumOf(own)
  }

  useOfContainer(id: string): SimulatedUse | undefined {
    const container = this.#containers.get(id)
    return container === undefined ? undefined : sumOf([container])
  }

  /** Returns the newest container with that name in the pod. */
  find(podUid: string, name: string): SimulatedContainer | undefined {
    return [...this.#containers.values()].findLast(
      (container) => container.pod.uid === podUid && container.name === name,
    )
  }

  /** Ends everything that runs, as by a power failure, without events. */
  powerOff(): void {
    for (const container of this.#containers.values()) container.kill()
    for (const sandbox of this.#sandboxes.values()) this.#leave(sandbox)
  }

  /**
   * Takes over what runs of a pod elsewhere, as if it had been started here. `behaviourOf` says how its containers go
   * on.
   */
  takeOver(pod: RunningPod, behaviourOf: (run: RunOfContainer) => ImageBehaviour): void {
    const { clock, node, network, nodeIps, files } = this.#options
    const { config, containers } = pod
    const { namespace, name, uid } = config.metadata ?? {}
    const sandbox = sandboxOf(pod, containerId(this.#options.random), nodeIps)
    this.#sandboxes.set(sandbox.id, sandbox)
    this.#join(sandbox)
    sandbox.containers = containers.map((run) => {
      const container = new SimulatedContainer({
        ...this.#parts,
        id: run.id,
        sandbox,
        node,
        image: familiar(run.container.image ?? ""),
        imageId: run.imageId,
        config: run.config,
        clock,
        createdAt: run.startedAt,
        files,
        network,
        behaviour: behaviourOf(run),
        logPath: `/var/log/pods/${namespace}_${name}_${uid}/${run.config.logPath ?? ""}`,
      })
      this.#containers.set(container.id, container)
      files.append(container.logPath, "")
      if (run.end === undefined) container.start(run.startedAt)
      else container.hasEnded({ startedAt: run.startedAt, ...run.end })
      return container
    })
  }

  async version() {
    this.#answer("Version")
    return { version: "0.1.0", runtimeName: "simulated", runtimeVersion: "1.0.0", runtimeApiVersion: "v1" }
  }

  async status() {
    this.#answer("Status")
    return runtimeStatus(this.#options.faults)
  }

  async cgroupDriver() {
    return "cgroupfs" as const
  }

  async updateRuntimeConfig(): Promise<void> {}

  async runPodSandbox(config: PodSandboxConfig, runtimeHandler = ""): Promise<string> {
    await this.#work("RunPodSandbox")
    const { clock, nodeIps, allotIps } = this.#options
    const { metadata, labels, annotations, linux } = config
    const namespaces = linux?.securityContext?.namespaceOptions
    const hostNetwork = namespaces?.network === "NODE"
    const sandbox: Sandbox = {
      id: containerId(this.#options.random),
      config: { metadata, labels, annotations: isEmpty(annotations) ? NONE : annotations },
      namespaces,
      hostNetwork,
      ips: hostNetwork ? nodeIps : allotIps(),
      createdAt: clock.now(),
      handler: runtimeHandler,
      ready: true,
      containers: [],
    }
    this.#sandboxes.set(sandbox.id, sandbox)
    this.#join(sandbox)
    return sandbox.id
  }

  async stopPodSandbox(id: string): Promise<void> {
    await this.#work("StopPodSandbox")
    const sandbox = this.#sandboxes.get(id)
    if (sandbox === undefined || !sandbox.ready) return
    for (const container of sandbox.containers) container.kill()
    this.#leave(sandbox)
    this.#events.send({ type: "Stopped", containerId: id, podSandboxId: id })
  }

  async removePodSandbox(id: string): Promise<void> {
    this.#answer("RemovePodSandbox")
    const sandbox = this.#sandboxes.get(id)
    if (sandbox === undefined) return
    for (const container of sandbox.containers) {
      container.kill()
      this.#containers.delete(container.id)
    }
    this.#leave(sandbox)
    this.#sandboxes.delete(id)
  }

  async podSandboxStatus(id: string): Promise<PodSandboxStatus | undefined> {
    this.#answer("PodSandboxStatus")
    const sandbox = this.#sandboxes.get(id)
    return sandbox === undefined ? undefined : sandboxStatus(sandbox)
  }

  async listPodSandboxes(): Promise<readonly PodSandbox[]> {
    this.#answer("ListPodSandbox")
    return [...this.#sandboxes.values()].map((sandbox) => listedSandbox(sandbox))
  }

  async createContainer(
    podSandboxId: string,
    config: ContainerConfig,
    sandboxConfig: PodSandboxConfig,
  ): Promise<string> {
    this.#answer("CreateContainer")
    const sandbox = this.#sandboxes.get(podSandboxId)
    if (sandbox === undefined || !sandbox.ready)
      throw new CriError("NotFound", "CreateContainer", `sandbox ${podSandboxId} is not running`)
    const { clock, files, images, behaviours, node, network } = this.#options
    const image = familiar(images.nameOf(config.image?.image ?? ""))
    const { logDirectory = "" } = sandboxConfig
    const container = new SimulatedContainer({
      ...this.#parts,
      id: containerId(this.#options.random),
      sandbox,
      node,
      image,
      imageId: config.image?.image ?? "",
      config,
      clock,
      files,
      network,
      behaviour: behaviours.of(image, runningAs(sandbox, config, image)),
      logPath: `${logDirectory}/${config.logPath ?? ""}`,
    })
    this.#containers.set(container.id, container)
    sandbox.containers = [...sandbox.containers, container]
    files.append(container.logPath, "")
    return container.id
  }

  async startContainer(id: string): Promise<void> {
    const container = this.#container(id, "StartContainer")
    const { startMs = 0, startError } = container.behaviour
    await this.#work("StartContainer", startMs)
    if (startError !== undefined) throw new CriError("Unknown", "StartContainer", startError)
    // It may have been removed, or its sandbox stopped, while it was starting.
    if (this.#containers.get(id) !== container)
      throw new CriError("NotFound", "StartContainer", `container ${id} was removed`)
    if (container.state === "CONTAINER_CREATED") container.start()
  }

  async stopContainer(id: string, graceSeconds: number): Promise<void> {
    this.#answer("StopContainer")
    await this.#containers.get(id)?.stop(graceSeconds * 1000)
  }

  async removeContainer(id: string): Promise<void> {
    this.#answer("RemoveContainer")
    const container = this.#containers.get(id)
    if (container === undefined) return
    container.kill()
    this.#containers.delete(id)
    const sandbox = this.#sandboxes.get(container.sandboxId)
    if (sandbox !== undefined) sandbox.containers = sandbox.containers.filter((other) => other !== container)
  }

  async listContainers(): Promise<readonly Container[]> {
    this.#answer("ListContainers")
    return [...this.#containers.values()].map((container) => {
      const { id, metadata, image, imageRef, state, createdAt, labels, annotations, imageId } = container.status()
      return {
        id,
        podSandboxId: container.sandboxId,
        metadata,
        image,
        imageRef,
        state,
        createdAt,
        labels,
        annotations,
        imageId,
      }
    })
  }

  async containerStatus(id: string) {
    this.#answer("ContainerStatus")
    return this.#containers.get(id)?.status()
  }

  async updateContainerResources(
    id: string,
    { memoryLimitInBytes = 0 }: { readonly memoryLimitInBytes?: number },
  ): Promise<void> {
    const container = this.#container(id, "UpdateContainerResources")
    if (memoryLimitInBytes > 0) container.limitMemory(memoryLimitInBytes)
  }

  async reopenContainerLog(id: string): Promise<void> {
    this.#options.files.append(this.#container(id, "ReopenContainerLog").logPath, "")
  }

  async execSync(id: string, command: readonly string[], timeoutSeconds: number) {
    const container = this.#container(id, "ExecSync")
    await this.#work("ExecSync")
    if (!container.running) throw new CriError("Unknown", "ExecSync", `container ${id} is not running`)
    return execSync(container, command, timeoutSeconds, this.#options.clock)
  }

  async exec({ containerId, cmd }: ExecRequest): Promise<string> {
    return this.#options.streams.prepare({
      kind: "exec",
      container: this.#container(containerId, "Exec"),
      command: cmd,
    })
  }
  async attach({ containerId }: AttachRequest): Promise<string> {
    return this.#options.streams.prepare({ kind: "attach", container: this.#container(containerId, "Attach") })
  }
  async portForward(podSandboxId: string): Promise<string> {
    const sandbox = this.#sandboxes.get(podSandboxId)
    if (sandbox === undefined) throw new CriError("NotFound", "PortForward", `sandbox ${podSandboxId} not found`)
    return this.#options.streams.prepare({ kind: "ports", ip: sandbox.ips[0]! })
  }

  async containerStats(id: string): Promise<ContainerStats | undefined> {
    const container = this.#containers.get(id)
    return container === undefined ? undefined : containerStats(container, this.#options.clock.now())
  }
  async listContainerStats(): Promise<readonly ContainerStats[]> {
    return [...this.#containers.values()]
      .filter(({ running }) => running)
      .map((container) => containerStats(container, this.#options.clock.now()))
  }
  async podSandboxStats(id: string): Promise<PodSandboxStats | undefined> {
    const sandbox = this.#sandboxes.get(id)
    return sandbox === undefined ? undefined : sandboxStats(sandbox, this.#options.clock.now())
  }
  async listPodSandboxStats(): Promise<readonly PodSandboxStats[]> {
    return [...this.#sandboxes.values()]
      .filter(({ ready }) => ready)
      .map((sandbox) => sandboxStats(sandbox, this.#options.clock.now()))
  }

  subscribeContainerEvents(signal: AbortSignal): AsyncGenerator<ContainerEvent, void> {
    return this.#events.subscribe(signal)
  }

  readonly #changed = ({ sandboxId }: SimulatedContainer): void => this.#changes.tell(sandboxId)

  readonly #ended = ({ id, sandboxId, reason }: SimulatedContainer): void => {
    if (reason === "OOMKilled") this.#events.send({ type: "OutOfMemory", containerId: id, podSandboxId: sandboxId })
    this.#events.send({ type: "Stopped", containerId: id, podSandboxId: sandboxId })
  }

  /** What all containers of the node are made with. */
  get #parts(): Pick<SimulatedContainerOptions, "shared" | "changed" | "ended" | "failed"> {
    return { shared: configs, changed: this.#changed, ended: this.#ended, failed: this.#options.behaviours.failed }
  }

  #join(sandbox: Sandbox): void {
    const { network, node } = this.#options
    if (sandbox.hostNetwork) this.#hostNetwork.add(sandbox)
    else for (const ip of sandbox.ips) network.join(ip, new PodAddress(node, sandbox))
  }

  #leave(sandbox: Sandbox): void {
    if (!sandbox.ready) return
    sandbox.ready = false
    this.#changes.tell(sandbox.id)
    this.#hostNetwork.delete(sandbox)
    if (!sandbox.hostNetwork) for (const ip of sandbox.ips) this.#options.network.leave(ip)
  }

  #container(id: string, method: string): SimulatedContainer {
    this.#answer(method)
    const container = this.#containers.get(id)
    if (container === undefined) throw new CriError("NotFound", method, `container ${id} not found`)
    return container
  }

  /** @throws CriError when the node is off */
  #answer(method: string): void {
    if (this.#options.faults.off) throw new CriError("Unavailable", method, "the node is off")
  }

  /** Waits as long as a call takes while the node is slow. */
  async #work(method: string, ms = 0): Promise<void> {
    const { clock, faults } = this.#options
    await faults.take(ms, { clock, method })
  }
}
