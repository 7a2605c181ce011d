import { mkdirSync } from "node:fs"
import { createConnection } from "node:net"
import type { Tracing } from "../../pkg/tracing/tracing.ts"
import { sleep, type Clock } from "../../pkg/clock/clock.ts"
import type { Component } from "../../pkg/component/component.ts"
import { connectCri, type CriClient } from "../../pkg/cri/client.ts"
import { replaceFile } from "../../pkg/files/files.ts"
import { isCriError } from "../../pkg/cri/errors.ts"
import type { Logger } from "../../pkg/log/log.ts"
import { Archives } from "./images/archives.ts"
import { containerdConfig, foldersOf } from "./config.ts"
import { detectCgroupDriver, inspectHost, type HostFacts } from "./host.ts"
import type { CgroupDriver } from "../../pkg/cri/cgroup-driver.ts"
import { withExampleImages } from "./images/example-images.ts"
import { OwnPauseImage } from "./images/own-pause-image.ts"
import { NETWORK } from "./network/cni.ts"
import { SourceGuard } from "./network/sources/source-guard.ts"
import { attachmentsOf, isPort } from "./network/plugin/attachments.ts"
import { hasPlugins } from "./network/plugin/install-plugins.ts"
import { PluginServer } from "./network/plugin/plugin-server.ts"
import type { ContainerdPaths } from "./paths.ts"
import { withPinnedImage } from "./images/pinned-image.ts"
import { PAUSE_IMAGE } from "./images/pause-image.ts"
import type { RegistryHosts } from "./registries/registry-hosts.ts"
import { endOrphanedDaemon, launchContainerd, type ContainerdProcess } from "./process.ts"
import { contain } from "../../pkg/failure/contain.ts"
import { errorMessage } from "../../pkg/errors/error-message.ts"

export interface ContainerdOptions {
  readonly paths: ContainerdPaths
  readonly clock: Clock
  readonly tracing?: Pick<Tracing, "traceparent"> | undefined
  readonly log: Logger
  /** By default a built-in image, which needs no registry. */
  readonly pauseImage?: string
  /**
   * By default systemd when it runs the host with cgroups v2, else cgroupfs. The kubelet must name the parents of
   * cgroups accordingly.
   */
  readonly cgroupDriver?: CgroupDriver
  /** Whether pods are held to their own addresses, for which the host has one table. */
  readonly guardsSources?: boolean
  /** The settings of registries; none by default. */
  readonly registries?: RegistryHosts
}

/** `down`: the daemon has ended and will be started again. */
export type ContainerdState = "stopped" | "starting" | "ready" | "down"

/** The back-off starts anew after a daemon has run this long. */
const HEALTHY_AFTER_MS = 30_000
const FIRST_BACKOFF_MS = 100
const LAST_BACKOFF_MS = 10_000
const START_TIMEOUT_MS = 30_000

/**
 * Runs a containerd: writes its configuration, starts it, and starts it again when it ends.
 * Containers do not depend on the daemon: each has a shim, which survives the daemon. So `stop` only ends the daemon,
 * and after a restart of k3ts the next daemon finds the containers again.
 * `#process` is the daemon that runs or is being started; it is undefined between its end and the next start.
 * `#stopping` aborts every wait of this class; after that nothing is started until the next `start`.
 */
export class Containerd implements Component {
  readonly name = "containerd"
  readonly paths: ContainerdPaths
  readonly cgroupDriver: CgroupDriver
  readonly pauseImage: string
  /** Calls fail with `Unavailable` while the daemon is down, and work again when it is back. */
  readonly cri: CriClient
  readonly #clock: Clock
  readonly #log: Logger
  readonly #registries: RegistryHosts | undefined
  readonly #archives: Archives
  /** Undefined where another pause image is named. */
  readonly #ownPauseImage: OwnPauseImage | undefined
  readonly #plugins: PluginServer
  readonly #listeners = new Set<(state: ContainerdState) => void>()
  #state: ContainerdState = "stopped"
  #problem: string | undefined
  #process: ContainerdProcess | undefined
  #host: HostFacts | undefined
  #stopping = new AbortController()
  /** Resolves when the daemon is no longer restarted. */
  #supervision: Promise<void> = Promise.resolve()

  constructor({
    paths,
    clock,
    log,
    tracing,
    pauseImage = PAUSE_IMAGE,
    cgroupDriver = detectCgroupDriver(),
    guardsSources = false,
    registries,
  }: ContainerdOptions) {
    this.#registries = registries
    this.paths = paths
    this.cgroupDriver = cgroupDriver
    this.pauseImage = pauseImage
    const cri = connectCri(paths.socket, clock, tracing)
    this.#clock = clock
    this.#log = log.child({ component: "containerd" })
    const own =
      pauseImage === PAUSE_IMAGE
        ? new OwnPauseImage({ paths, images: cri.images, clock, signal: () => this.#stopping.signal })
        : undefined
    this.#ownPauseImage = own
    this.cri = {
      ...cri,
      runtime: own?.before(cri.runtime) ?? cri.runtime,
      images: withPinnedImage(withExampleImages(cri.images, paths, clock), pauseImage),
    }
    const pods = () => attachmentsOf(NETWORK, isPort)
    this.#plugins = new PluginServer({
      ...{ paths, clock, log: this.#log },
      guard: guardsSources ? new SourceGuard({ clock, log: this.#log, pods }) : undefined,
    })
    this.#archives = new Archives({
      paths,
      clock,
      log: this.#log,
      images: this.cri.images,
      first: async () => own?.there(),
    })
  }

  get state(): ContainerdState {
    return this.#state
  }

  /** The facts about the host; undefined before `start`. */
  get host(): HostFacts | undefined {
    return this.#host
  }

  /** Calls `listener` at each change of the state. Returns a function that ends this. */
  onState(listener: (state: ContainerdState) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  problem(): string | undefined {
    return this.#state === "ready" ? undefined : (this.#problem ?? `containerd is ${this.#state}`)
  }

  /**
   * Returns a promise while archives of images are being imported, which resolves when there may be more images;
   * undefined otherwise.
   */
  moreImages(): Promise<void> | undefined {
    return this.#archives.more()
  }

  /** Resolves when containerd serves the CRI. @throws Error with the daemon's own message */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#state !== "stopped") throw new Error(`Cannot start containerd: it is ${this.#state}`)
    this.#stopping = new AbortController()
    const stopping = AbortSignal.any([signal, this.#stopping.signal])
    this.#problem = undefined
    this.#become("starting")
    try {
      this.#ownPauseImage?.checkProcessor()
      for (const folder of foldersOf(this.paths)) mkdirSync(folder, { recursive: true })
      const [host, orphan] = await Promise.all([inspectHost(this.paths), endOrphanedDaemon(this.paths, this.#clock)])
      stopping.throwIfAborted()
      if (orphan !== undefined) this.#log.info("Ended the containerd of an earlier run", { pid: orphan })
      this.#host = host
      if (host.snapshotter === "native")
        this.#log.warn("overlayfs does not work here: each container gets a copy of its image", {
          path: this.paths.root,
        })
      const { paths, pauseImage, cgroupDriver } = this
      if (hasPlugins(paths)) await this.#plugins.start()
      const credentials = (await this.#registries?.start()) ?? {}
      replaceFile(paths.config, containerdConfig({ paths, host, pauseImage, cgroupDriver, credentials }), {
        mode: 0o600,
      })
      await this.#launch(stopping)
    } catch (err) {
      const aborted = stopping.aborted
      await this.stop()
      throw aborted ? stopping.reason : err
    }
    this.#archives.start(this.#stopping.signal)
    this.#become("ready")
    this.#supervision = this.#supervise(this.#stopping.signal)
  }

  /** Stops the daemon; pods keep running. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("containerd is being stopped"))
    await this.#archives.ended()
    await this.#process?.stop(this.#clock)
    await this.#supervision
    await this.#plugins.stop()
    await this.#registries?.stop()
    this.#process = undefined
    this.#problem = undefined
    this.#become("stopped")
  }

  /** Starts the daemon and waits until it serves the CRI. */
  async #launch(signal: AbortSignal): Promise<void> {
    const started = this.#clock.monotonic()
    const process = launchContainerd(this.paths)
    this.#process = process
    const ready = new AbortController()
    const gone = process.exited.then((reason) => {
      throw new Error(reason)
    })
    try {
      await Promise.race([this.#serves(process, AbortSignal.any([signal, ready.signal])), gone])
    } finally {
      ready.abort()
      gone.catch(() => undefined)
    }
    this.#log.info("containerd is ready", {
      pid: process.pid,
      version: this.#host?.version,
      ms: Math.round(this.#clock.monotonic() - started),
    })
  }

  /**
   * Resolves when the CRI responds. The socket is tried at short intervals, since containerd needs 10 ms to 200 ms and
   * does not report when it is ready.
   */
  async #serves(process: ContainerdProcess, signal: AbortSignal): Promise<void> {
    const deadline = this.#clock.monotonic() + START_TIMEOUT_MS
    for (;;) {
      const problem = (await accepts(this.paths.socket))
        ? await this.#runtimeProblem(process, signal)
        : "its socket does not answer"
      if (problem === undefined) return
      if (this.#clock.monotonic() > deadline) {
        throw new Error(
          `containerd is not ready after ${START_TIMEOUT_MS / 1000} s: ${problem}. Its log is ${this.paths.log}`,
        )
      }
      await sleep(this.#clock, 5, signal)
    }
  }

  /** Returns why the CRI is not ready yet; undefined when it is. @throws Error when waiting longer is useless */
  async #runtimeProblem(process: ContainerdProcess, signal: AbortSignal): Promise<string | undefined> {
    try {
      const { status } = await this.cri.runtime.status(false, { timeoutMs: 5000, signal })
      const condition = status?.conditions.find(({ type }) => type === "RuntimeReady")
      return condition?.status ? undefined : condition?.message || "it reports that it is not ready"
    } catch (err) {
      // containerd listens after it has loaded its plugins; one that is missing then will not appear.
      if (isCriError(err, "Unimplemented"))
        throw new Error(`containerd runs without its CRI plugin: ${process.complaint() ?? "it does not say why"}`)
      return errorMessage(err)
    }
  }

  /** Waits for the daemon's end and starts it again, until `stop`. */
  async #supervise(signal: AbortSignal): Promise<void> {
    let backoff = FIRST_BACKOFF_MS
    while (!signal.aborted) {
      const since = this.#clock.monotonic()
      const reason = await this.#process!.exited
      if (signal.aborted) return
      if (this.#clock.monotonic() - since > HEALTHY_AFTER_MS) backoff = FIRST_BACKOFF_MS
      this.#problem = reason
      this.#become("down")
      backoff = await this.#restart(reason, backoff, signal)
    }
  }

  /** Tries until the daemon runs. Returns the next backoff. */
  async #restart(reason: string, backoff: number, signal: AbortSignal): Promise<number> {
    let delay = backoff
    let why = reason
    while (!signal.aborted) {
      this.#log.warn("containerd ended; starting it again", { reason: why, ms: delay })
      try {
        await sleep(this.#clock, delay, signal)
        delay = Math.min(delay * 2, LAST_BACKOFF_MS)
        await this.#launch(signal)
        // Imports the archives that the last daemon did not.
        this.#archives.start(signal)
        this.#become("ready")
        break
      } catch (err) {
        if (signal.aborted) break
        why = errorMessage(err)
        this.#problem = why
        // The daemon may hang without having ended.
        await this.#process?.stop(this.#clock)
      }
    }
    return delay
  }

  #become(state: ContainerdState): void {
    if (this.#state === state) return
    this.#state = state
    if (state === "ready") this.#problem = undefined
    for (const listener of this.#listeners)
      try {
        listener(state)
      } catch (err) {
        contain("background work", err, this.#log, { state }) // containerd is supervised on
      }
  }
}

/** Whether something accepts connections at the socket. */
function accepts(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(path)
    const settle = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.once("connect", () => settle(true))
    socket.once("error", () => settle(false))
  })
}
