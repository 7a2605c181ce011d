import { basename, dirname } from "node:path"
import type { Timer } from "../../../pkg/clock/clock.ts"
import { watchFolder } from "../../../pkg/process/watch-folder.ts"
import type { PluginDescription, PluginRequest } from "../../../pkg/scheduler-plugin/protocol.ts"
import type { NodeInfo } from "../node-info.ts"
import { ProcessHost, type ProcessHostOptions } from "./process-host.ts"
import type { PluginHost } from "./plugin-host.ts"

/** Editors write a file in several steps: it is read when nothing has changed for so long, in milliseconds. */
const QUIET_MS = 200

/** Whether a file may be what the plugin is made of: a log in the same folder changes all the time. */
const isSource = (name: string | undefined): boolean => name === undefined || /\.(?:[cm]?[jt]sx?|json)$/.test(name)

/**
 * A plugin that is loaded again when a file of its folder changes, for development. One that cannot be loaded changes
 * nothing: the plugin as it was stays.
 */
export class ReloadingHost implements PluginHost {
  readonly #options: ProcessHostOptions
  #current: ProcessHost
  #unwatch: (() => void) | undefined
  #timer: Timer | undefined
  #loading: Promise<void> = Promise.resolve()

  private constructor(options: ProcessHostOptions, current: ProcessHost) {
    this.#options = options
    this.#current = current
  }

  /** @throws Error as `ProcessHost.load` */
  static async load(options: ProcessHostOptions): Promise<ReloadingHost> {
    const host = new ReloadingHost(options, await ProcessHost.load(options))
    host.#watch()
    return host
  }

  get description(): PluginDescription {
    return this.#current.description
  }

  ask(request: PluginRequest, nodes: readonly NodeInfo[] | undefined, deadlineMs: number): Promise<unknown> {
    return this.#current.ask(request, nodes, deadlineMs)
  }
  tell(request: PluginRequest): void {
    this.#current.tell(request)
  }

  begin(): void {
    this.#current.begin()
    this.#watch()
  }

  async stop(): Promise<void> {
    this.#unwatch?.()
    this.#unwatch = undefined
    this.#timer?.cancel()
    await this.#loading
    await this.#current.stop()
  }

  #watch(): void {
    const { file, clock } = this.#options
    this.#unwatch ??= watchFolder(dirname(file), (name) => (isSource(name) ? this.#changed() : undefined), {
      clock,
      mode: 0o755,
    })
  }

  #changed(): void {
    this.#timer?.cancel()
    this.#timer = this.#options.clock.setTimeout(() => {
      this.#loading = this.#loading.then(() => this.#reload())
    }, QUIET_MS)
  }

  async #reload(): Promise<void> {
    const { file, log } = this.#options
    if (this.#unwatch === undefined) return
    const { name } = this.description
    try {
      const next = await ProcessHost.load(this.#options)
      const fault = changeFault(this.description, next.description)
      if (fault !== undefined) {
        await next.stop()
        throw new Error(`${fault}: restart the server for that`)
      }
      const before = this.#current
      this.#current = next
      log.info("Loaded a scheduler plugin again", { plugin: name, points: next.description.points.join(", ") })
      void before.retire()
    } catch (err) {
      log.error("A scheduler plugin cannot be loaded again; it stays as it was", {
        plugin: name,
        file: basename(file),
        err,
      })
    }
  }
}

/** Returns what of a new plugin the scheduler cannot take over while it runs. */
function changeFault(before: PluginDescription, after: PluginDescription): string | undefined {
  if (after.name !== before.name) return `its name must stay ${before.name}, and is ${after.name}`
  if (after.points.includes("queueSort") && !before.points.includes("queueSort"))
    return "it did not sort the queue before, and does now"
  return undefined
}
