import { join } from "node:path"
import type { Timer } from "../../../pkg/clock/clock.ts"
import type { ComponentContext } from "../../../pkg/component/component.ts"
import { contain } from "../../../pkg/failure/contain.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { PluginSocket, PluginSockets } from "../runtime/runtime.ts"
import { GetInfo, NotifyRegistrationStatus, type PluginInfo } from "./registration-service.ts"

/** Handles the plugins of one type. */
export interface PluginHandler {
  /** @throws Error that says why the plugin cannot be used */
  validate(plugin: PluginInfo): void
  /** @throws Error that says why the plugin cannot be used now */
  register(plugin: PluginInfo): void
  deregister(plugin: PluginInfo): void
}

export interface PluginRegistryOptions extends Pick<ComponentContext, "clock" | "log" | "spawn"> {
  readonly sockets: PluginSockets
  /** The folder in which plugins create their registration sockets. */
  readonly folder: string
  /** The handlers, by the type that a plugin reports. */
  readonly handlers: Readonly<Record<string, PluginHandler>>
}

/**
 * Milliseconds in which a plugin must answer a call. Source: operationexecutor/operation_generator.go
 * dialTimeoutDuration.
 */
const ANSWER_MS = 10_000
/**
 * The first and the longest delay between attempts, in milliseconds. Source: k8s.io/kubernetes
 * pkg/util/goroutinemap/exponentialbackoff.
 */
const FIRST_RETRY_MS = 500
const LAST_RETRY_MS = 122_000

interface Entry extends PluginSocket {
  /** Set while the plugin is registered. */
  plugin?: PluginInfo
  retryMs: number
  retry?: Timer
}

/**
 * Registers the plugins whose sockets are in a folder. The plugin behind a new socket is asked for its type and name;
 * when a socket is removed, its plugin is deregistered. Source: pkg/kubelet/pluginmanager.
 */
export class PluginRegistry {
  readonly #options: PluginRegistryOptions
  readonly #entries = new Map<string, Entry>()
  /** The last comparison with the folder: comparisons run one after the other. */
  #looking: Promise<void> = Promise.resolve()
  #off = () => {}
  #stopped = false

  constructor(options: PluginRegistryOptions) {
    this.#options = options
  }

  /** Watches the folder, which must exist. Resolves when the sockets in it are known. */
  async start(): Promise<void> {
    const { sockets, folder, spawn } = this.#options
    this.#off = sockets.watch(folder, () => spawn("plugins of the node", () => this.#check()))
    await this.#check()
  }

  stop(): void {
    this.#stopped = true
    this.#off()
    for (const { retry } of this.#entries.values()) retry?.cancel()
  }

  #check(): Promise<void> {
    const compare = () => this.#compare()
    return (this.#looking = this.#looking.then(compare, compare))
  }

  /** Compares the known sockets with those in the folder. Never rejects. */
  async #compare(): Promise<void> {
    const { sockets, folder, log } = this.#options
    if (this.#stopped) return
    let found: readonly PluginSocket[]
    try {
      found = await sockets.list(folder)
    } catch (err) {
      return log.error("Failed to search for plugins of the kubelet", { folder, err })
    }
    if (this.#stopped) return
    const made = new Map(found.map((socket) => [socket.path, socket.made]))
    for (const entry of this.#entries.values())
      if (made.get(entry.path) !== entry.made)
        try {
          this.#forget(entry)
        } catch (err) {
          contain("plugin", err, log, { socket: entry.path })
        }
    for (const socket of found) {
      if (this.#entries.has(socket.path)) continue
      const entry = { ...socket, retryMs: FIRST_RETRY_MS }
      this.#entries.set(socket.path, entry)
      this.#register(entry)
    }
  }

  #forget(entry: Entry): void {
    this.#entries.delete(entry.path)
    entry.retry?.cancel()
    const { plugin } = entry
    if (plugin === undefined) return
    this.#options.log.info("Deregistered a plugin", { type: plugin.type, plugin: plugin.name, socket: entry.path })
    this.#options.handlers[plugin.type]?.deregister(plugin)
  }

  #isCurrent(entry: Entry): boolean {
    return !this.#stopped && this.#entries.get(entry.path) === entry
  }

  #register(entry: Entry): void {
    const { spawn, log, clock } = this.#options
    spawn("registration of a plugin", async () => {
      try {
        await this.#tryToRegister(entry)
      } catch (err) {
        if (!this.#isCurrent(entry)) return
        log.warn("Failed to register a plugin; will retry", { socket: entry.path, afterMs: entry.retryMs, err })
        entry.retry = clock.setTimeout(() => this.#register(entry), entry.retryMs)
        entry.retryMs = Math.min(entry.retryMs * 2, LAST_RETRY_MS)
      }
    })
  }

  async #tryToRegister(entry: Entry): Promise<void> {
    const { sockets, handlers, log } = this.#options
    const channel = sockets.connect(entry.path)
    const answer = async (error?: string) => {
      const status = { pluginRegistered: error === undefined, error: error ?? "" }
      await channel.call(NotifyRegistrationStatus, status, { timeoutMs: ANSWER_MS })
      if (error !== undefined) throw new Error(error)
    }
    try {
      const info = await channel.call(GetInfo, {}, { timeoutMs: ANSWER_MS })
      if (!this.#isCurrent(entry)) return
      const plugin = info.endpoint === "" ? { ...info, endpoint: entry.path } : info
      const handler = Object.hasOwn(handlers, plugin.type) ? handlers[plugin.type] : undefined
      if (handler === undefined)
        return await answer(
          `RegisterPlugin error -- no handler registered for plugin type: ${plugin.type} at socket ${entry.path}`,
        )
      const problem = problemOf("validation", () => handler.validate(plugin))
      const refusal = problem ?? problemOf("registration", () => handler.register(plugin))
      if (refusal !== undefined) return await answer(refusal)
      entry.plugin = plugin
      try {
        await answer()
      } catch (err) {
        // If the socket was removed during the call, #forget has already deregistered the plugin.
        if (this.#isCurrent(entry)) handler.deregister(plugin)
        delete entry.plugin
        throw err
      }
      log.info("Registered a plugin", { type: plugin.type, plugin: plugin.name, socket: entry.path })
    } finally {
      channel.close()
    }
  }
}

function problemOf(step: string, run: () => void): string | undefined {
  try {
    run()
    return undefined
  } catch (err) {
    return `RegisterPlugin error -- plugin ${step} failed with err: ${errorMessage(err)}`
  }
}

/**
 * Returns the folder of registration sockets below the kubelet's root folder. Source: pkg/kubelet/config/defaults.go.
 */
export const registryFolder = (root: string): string => join(root, "plugins_registry")
