import type { Clock, Timer } from "../../../../../pkg/clock/clock.ts"
import { sleep } from "../../../../../pkg/clock/clock.ts"
import type { ContainerConfig, ContainerStatus } from "../../../../../pkg/cri/container.ts"
import type { PodSandboxConfig } from "../../../../../pkg/cri/sandbox.ts"
import type { ExecResult } from "../../../../../pkg/cri/service.ts"
import type { SharedParts } from "../../../../../pkg/cache/shared-parts.ts"
import type { ContainerHandle, ExecAnswer, ImageBehaviour } from "./behaviour.ts"
import { ConnectionError } from "../machine/connection-error.ts"
import type { MemoryFiles } from "../machine/memory-files.ts"
import type { PodClients, SendingPod } from "../machine/pod-clients.ts"
import { Connections } from "./connections.ts"
import { ProcessorTime } from "./processor-time.ts"
import { statusOf, userOf } from "./container-status.ts"
import { environmentIn, programOf, type Program } from "./program.ts"
import { shellResult, understood } from "./shell.ts"

/** What a container asks of its sandbox. */
export interface SandboxOfContainer {
  readonly id: string
  readonly config: Pick<PodSandboxConfig, "metadata" | "labels">
  readonly ips: readonly string[]
  readonly hostNetwork: boolean
}

export interface SimulatedContainerOptions {
  readonly id: string
  readonly sandbox: SandboxOfContainer
  readonly node: string
  readonly image: string
  readonly imageId: string
  readonly config: ContainerConfig
  /** An absolute path. */
  readonly logPath: string
  readonly behaviour: ImageBehaviour
  readonly clock: Clock
  /** When it was created, in milliseconds since the epoch; now by default. */
  readonly createdAt?: number
  readonly files: MemoryFiles
  readonly network: { readonly clients: PodClients | undefined }
  /** The configurations of earlier containers, most of which are alike in most. */
  readonly shared: SharedParts
  /** Called when it begins or ceases to run, or to listen. */
  changed(container: SimulatedContainer): void
  /** Called once, when the container has exited. */
  ended(container: SimulatedContainer): void
  /** Called with the error of a behaviour's function whose caller ignores errors. */
  failed(failure: Error): void
}

/** A run that is over. Times are in milliseconds since the epoch. */
export interface PastRun {
  readonly startedAt: number
  readonly finishedAt: number
  readonly exitCode: number
  readonly reason: string
}

/** What is asked for of a container's configuration again; there may be very many containers. */
type KeptConfig = Omit<ContainerConfig, "linux" | "devices" | "cdiDevices" | "workingDir" | "logPath">

const STOPPED = new Error("the container is being stopped")

/** What a program awaits whose container has exited: a process that is gone goes on with nothing, nor loops for ever. */
const NEVER = new Promise<never>(() => {})

/** The exit code of a process that SIGKILL ended: 128 and the signal's number. */
const KILLED = 137
const TERMINATED = 143

/**
 * One run of a container: a state machine, created → running → exited, which is driven by its behaviour, its timers and
 * the kubelet.
 */
export class SimulatedContainer implements ContainerHandle {
  readonly id: string
  readonly behaviour: ImageBehaviour
  readonly config: KeptConfig
  readonly node: string
  readonly image: string
  readonly logPath: string
  state: "CONTAINER_CREATED" | "CONTAINER_RUNNING" | "CONTAINER_EXITED" = "CONTAINER_CREATED"
  readonly createdAt: number
  startedAt = 0
  finishedAt = 0
  exitCode = 0
  reason = ""
  memory = 0
  #processorTime: ProcessorTime | undefined
  readonly #sandbox: SandboxOfContainer
  readonly #files: MemoryFiles
  readonly #network: SimulatedContainerOptions["network"]
  readonly #imageId: string
  readonly #user: ContainerStatus["user"]
  readonly #changed: SimulatedContainerOptions["changed"]
  readonly #whenEnded: SimulatedContainerOptions["ended"]
  readonly #failed: SimulatedContainerOptions["failed"]
  readonly #clock: Clock
  // Created when a behaviour reads it, since there may be very many containers and few behaviours do.
  #stopping: AbortController | undefined
  #ended: AbortController | undefined
  #toldToStop = false
  #closed = false
  #connections: Connections | undefined
  #limit: number
  #timer: Timer | undefined
  #env: Readonly<Record<string, string>> | undefined
  #waiting: (() => void)[] | undefined
  #followers: Set<() => void> | undefined

  constructor(options: SimulatedContainerOptions) {
    const { id, sandbox, behaviour, clock, node, image, logPath } = options
    const {
      linux,
      devices: _devices,
      cdiDevices: _cdiDevices,
      workingDir: _workingDir,
      logPath: _logPath,
      ...config
    } = options.config
    this.#files = options.files
    this.#network = options.network
    this.#imageId = options.imageId
    this.#user = userOf(linux?.securityContext)
    this.#changed = options.changed
    this.#whenEnded = options.ended
    this.#failed = options.failed
    this.#clock = clock
    this.id = id
    this.#sandbox = sandbox
    this.behaviour = behaviour
    this.config = options.shared.of(config, `${image} ${config.metadata?.name ?? ""}`)
    this.node = node
    this.image = image
    this.logPath = logPath
    this.createdAt = options.createdAt ?? clock.now()
    this.#limit = linux?.resources?.memoryLimitInBytes ?? 0
  }

  get sandboxId(): string {
    return this.#sandbox.id
  }
  get pod(): ContainerHandle["pod"] {
    const { config, ips } = this.#sandbox
    const { namespace = "", name = "", uid = "" } = config.metadata ?? {}
    return { namespace, name, uid, ip: ips[0]! }
  }
  get name(): string {
    return this.config.metadata?.name ?? ""
  }
  get attempt(): number {
    return this.config.metadata?.attempt ?? 0
  }
  get command(): readonly string[] {
    return this.config.command ?? []
  }
  get args(): readonly string[] {
    return this.config.args ?? []
  }
  get env(): Readonly<Record<string, string>> {
    return (this.#env ??= environmentIn(this.config))
  }
  get stopping(): AbortSignal {
    this.#stopping ??= new AbortController()
    if (this.#toldToStop) this.#stopping.abort(STOPPED)
    return this.#stopping.signal
  }
  get running(): boolean {
    return this.state === "CONTAINER_RUNNING"
  }
  /** Whether the ports of the container accept connections. */
  get listens(): boolean {
    return this.running && !this.#closed && this.#clock.now() >= this.startedAt + (this.behaviour.listensAfterMs ?? 0)
  }

  now(): number {
    return this.#clock.now()
  }

  async sleep(ms: number): Promise<void> {
    if (this.#isOver) return NEVER
    await sleep(this.#clock, ms, this.#untilEnded()).catch(() => undefined)
  }

  /** Adds an open connection. `broken` is called when the container ends. Returns a function that closes it. */
  connected(broken: () => void): () => void {
    return (this.#connections ??= new Connections()).add(broken)
  }

  async fetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    if (this.#isOver) return NEVER
    const asked = new Request(input, init)
    const signal = AbortSignal.any([asked.signal, this.#untilEnded()])
    return this.#clients().fetch(this.#sender(), new Request(asked, { signal }))
  }

  async lookup(name: string): Promise<readonly string[]> {
    if (this.#isOver) return NEVER
    return this.#clients().lookup(this.#sender(), name)
  }

  log(line: string, stream: "stdout" | "stderr" = "stdout"): void {
    this.#files.append(
      this.logPath,
      `${new Date(this.#clock.now()).toISOString().slice(0, -1)}000000Z ${stream} F ${line}\n`,
    )
    for (const follower of this.#followers ?? []) follower()
  }

  /** Returns all that the container has written, without timestamps. */
  written(): string {
    const lines = (this.#files.get(this.logPath) ?? "").split("\n").slice(0, -1)
    return lines.map((line) => `${line.split(" ").slice(3).join(" ")}\n`).join("")
  }

  /**
   * Calls the follower when something is written to the log, or the container exits. Returns a function that ends this.
   */
  onLog(follower: () => void): () => void {
    this.#followers ??= new Set()
    this.#followers.add(follower)
    return () => void this.#followers?.delete(follower)
  }

  async read(path: string): Promise<string | undefined> {
    const mount = (this.config.mounts ?? [])
      .filter(({ containerPath = "" }) => path === containerPath || path.startsWith(`${containerPath}/`))
      .sort((a, b) => (b.containerPath ?? "").length - (a.containerPath ?? "").length)[0]
    return mount === undefined
      ? undefined
      : this.#files.get(`${mount.hostPath ?? ""}${path.slice((mount.containerPath ?? "").length)}`)
  }

  useMemory(bytes: number): void {
    this.memory = bytes
    if (this.running && this.#limit > 0 && bytes > this.#limit) this.#end(KILLED, "OOMKilled")
  }

  /** Returns the processor time that the container has used, in nanoseconds. */
  cpuNanoseconds(): number {
    const { cpu } = this.behaviour
    if (cpu === undefined || !this.running) return this.#processorTime?.nanoseconds ?? 0
    this.#processorTime ??= new ProcessorTime(cpu, this.startedAt, this.#failed)
    return this.#processorTime.count(this)
  }

  /** Sets the memory limit of a running container. */
  limitMemory(bytes: number): void {
    this.#limit = bytes
    this.useMemory(this.memory)
  }

  exit(code: number): void {
    if (this.running) this.#end(code, code === 0 ? "Completed" : "Error")
  }

  /** Starts it, or goes on with one that was started before, in milliseconds since the epoch. */
  start(startedAt = this.#clock.now()): void {
    const { behaviour } = this
    this.state = "CONTAINER_RUNNING"
    this.startedAt = startedAt
    this.#changed(this)
    for (const line of behaviour.logs ?? []) this.log(line)
    this.useMemory(behaviour.memoryBytes ?? 0)
    if (!this.running) return
    if (behaviour.runsMs !== undefined)
      this.#timer = this.#clock.setTimeout(
        () => this.#finish(behaviour.exitCode ?? 0),
        Math.max(0, startedAt + behaviour.runsMs - this.#clock.now()),
      )
    else this.#run(behaviour.run ?? programOf(this))
  }

  /** Makes it one that has ended before. */
  hasEnded({ startedAt, finishedAt, exitCode, reason }: PastRun): void {
    Object.assign(this, { state: "CONTAINER_EXITED", startedAt, finishedAt, exitCode, reason })
  }

  /** Sends the stop signal, and SIGKILL after `graceMs`. Resolves when the container has exited. */
  stop(graceMs: number): Promise<void> {
    if (!this.running) return Promise.resolve()
    const ended = new Promise<void>((resolve) => (this.#waiting ??= []).push(resolve))
    const { onStop = "exit", run } = this.behaviour
    const first = !this.#toldToStop
    this.#tellToStop()
    const kill = this.#clock.setTimeout(() => this.kill(), graceMs)
    void ended.then(() => kill.cancel())
    if (!first) return ended
    // A `run` function sees `stopping`, and ends by itself.
    if (onStop === "exit" && run === undefined) this.#end(TERMINATED, "Error")
    else if (onStop === "drain") {
      this.#closed = true
      this.#changed(this)
      if (run === undefined) (this.#connections ??= new Connections()).whenDrained(() => this.exit(0))
    } else if (typeof onStop === "object") {
      this.#timer?.cancel()
      this.#timer = this.#clock.setTimeout(
        () => this.#end(onStop.exitCode ?? 0, (onStop.exitCode ?? 0) === 0 ? "Completed" : "Error"),
        onStop.afterMs,
      )
    }
    return ended
  }

  kill(): void {
    if (this.running) this.#end(KILLED, "Error")
  }

  async exec(command: readonly string[]): Promise<ExecResult> {
    const { exec } = this.behaviour
    const encode = (text: string) => new TextEncoder().encode(text)
    if (exec !== undefined) {
      const { exitCode = 0, stdout = "", stderr = "" } = answerOf(await exec(command, this))
      return { exitCode, stdout: encode(stdout), stderr: encode(stderr) }
    }
    const commands = understood(command)
    // A command that the image does not describe succeeds.
    const { exitCode, stdout, stderr } =
      commands === undefined ? { exitCode: 0, stdout: "", stderr: "" } : await shellResult(commands, this)
    return { exitCode, stdout: encode(stdout), stderr: encode(stderr) }
  }

  status(): ContainerStatus {
    return statusOf(this, this.#imageId, this.#user)
  }

  #run(program: Program | undefined): void {
    program?.(this).then(
      (code) => this.#finish(code ?? 0),
      (err: unknown) => {
        if (!this.running) return
        this.log(err instanceof Error ? (err.stack ?? err.message) : String(err), "stderr")
        this.#finish(1)
      },
    )
  }

  /** Called when the container exits by itself. */
  #finish(code: number): void {
    if (!this.running) return
    const { terminationMessage } = this.behaviour
    const path = this.config.annotations?.["io.kubernetes.container.terminationMessagePath"]
    const mount = (this.config.mounts ?? []).find(({ containerPath }) => containerPath === path)
    if (terminationMessage !== undefined && mount?.hostPath !== undefined)
      this.#files.append(mount.hostPath, terminationMessage)
    this.#end(code, code === 0 ? "Completed" : "Error")
  }

  #end(exitCode: number, reason: string): void {
    this.state = "CONTAINER_EXITED"
    this.#changed(this)
    this.finishedAt = this.#clock.now()
    this.exitCode = exitCode
    this.reason = reason
    this.memory = 0
    this.#timer?.cancel()
    this.#tellToStop()
    this.#connections?.break()
    this.#ended?.abort(STOPPED)
    for (const resolve of this.#waiting ?? []) resolve()
    this.#waiting = undefined
    for (const follower of this.#followers ?? []) follower()
    this.#whenEnded(this)
  }

  get #isOver(): boolean {
    return this.state === "CONTAINER_EXITED"
  }

  #untilEnded(): AbortSignal {
    this.#ended ??= new AbortController()
    return this.#ended.signal
  }

  #clients(): PodClients {
    const { clients } = this.#network
    if (clients !== undefined) return clients
    throw new ConnectionError("ENOTFOUND", "containers of this node can only be reached: there is no network for them")
  }

  #sender(): SendingPod {
    const { config, ips, hostNetwork } = this.#sandbox
    const { namespace, name, uid } = this.pod
    return { namespace, name, uid, labels: config.labels ?? {}, node: this.node, ips, hostNetwork }
  }

  #tellToStop(): void {
    this.#toldToStop = true
    this.#stopping?.abort(STOPPED)
  }
}

const answerOf = (answer: ExecAnswer): Exclude<ExecAnswer, number | string> =>
  typeof answer === "number" ? { exitCode: answer } : typeof answer === "string" ? { stdout: answer } : answer
