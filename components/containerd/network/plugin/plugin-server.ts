import { chmodSync, mkdirSync, rmSync } from "node:fs"
import { createServer, type Server, type Socket } from "node:net"
import { dirname, join } from "node:path"
import { sleep, type Clock } from "../../../../pkg/clock/clock.ts"
import type { Logger } from "../../../../pkg/log/log.ts"
import {
  callOf,
  DEFAULT_VERSION,
  errorText,
  resultText,
  versionProblem,
  versionText,
  type CniCall,
  type CniResult,
} from "./cni.ts"
import type { ContainerdPaths } from "../../paths.ts"
import { NETWORK } from "../cni.ts"
import { NO_RULES, type SourceGuard } from "../sources/source-guard.ts"
import { attachmentsOf, isPort } from "./attachments.ts"
import { addChained, removeChained } from "./chained.ts"
import { addLoopback } from "./loopback.ts"
import { networkOf } from "./network-config.ts"
import { PluginProcess } from "./plugin-process.ts"
import { addPod, checkPod, collect, releaseUnused, removePod } from "./pod-interface.ts"
import { beginListening } from "../../../../pkg/runtime/http/begin-listening.ts"

export interface PluginServerOptions {
  readonly paths: ContainerdPaths
  readonly clock: Clock
  readonly log: Logger
  /** Holds pods to their own addresses, where there is one. */
  readonly guard: SourceGuard | undefined
}

/** Serves the calls of our CNI plugins: each process of the plugin's program connects to this server's socket. */
export class PluginServer {
  readonly #paths: ContainerdPaths
  readonly #clock: Clock
  readonly #log: Logger
  readonly #guard: SourceGuard | undefined
  readonly #sockets = new Set<Socket>()
  readonly #calls = new Set<Promise<void>>()
  /** Aborted by `stop`. */
  #running = new AbortController()
  #server: Server | undefined

  constructor({ paths, clock, log, guard }: PluginServerOptions) {
    this.#guard = guard
    this.#paths = paths
    this.#clock = clock
    this.#log = log
  }

  /** Frees the addresses of pods that are gone, and listens. */
  async start(): Promise<void> {
    const { cniSocket: path, cniAddresses } = this.#paths
    // Whoever connects can make k3ts start programs. So only root may enter the folder, from the beginning and with any
    // umask.
    mkdirSync(dirname(path), { recursive: true })
    chmodSync(dirname(path), 0o700)
    rmSync(path, { force: true })
    const released = releaseUnused(join(cniAddresses, NETWORK), attachmentsOf(NETWORK, isPort), isPort)
    this.#guard?.start()
    if (released.length > 0)
      this.#log.info("Released addresses of pods that do not exist any more", { addresses: released })
    const server = createServer((socket) => {
      this.#sockets.add(socket)
      socket.once("close", () => this.#sockets.delete(socket))
      const call = this.#serve(new PluginProcess(socket)).finally(() => this.#calls.delete(call))
      this.#calls.add(call)
    })
    this.#server = server
    this.#running = new AbortController()
    await beginListening(server, { path })
    chmodSync(path, 0o600)
  }

  async stop(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (server === undefined) return
    const closed = new Promise((resolve) => server.close(resolve))
    // If a call ends halfway, the runtime calls DEL, which removes what the call has made.
    for (const socket of this.#sockets) socket.destroy()
    this.#running.abort()
    await Promise.all([closed, ...this.#calls])
    await this.#guard?.stop()
    rmSync(this.#paths.cniSocket, { force: true })
  }

  async #serve(process: PluginProcess): Promise<void> {
    let version: string = DEFAULT_VERSION
    let call: CniCall | undefined
    try {
      const { environment, input } = await process.input()
      call = callOf(environment, input)
      if (typeof call.config["cniVersion"] === "string") version = call.config["cniVersion"]
      await process.exit(0, await this.#answer(process, call, version))
    } catch (err) {
      this.#log.warn("Failed to set up the network of a pod", {
        command: call?.command,
        container: call?.containerId,
        err,
      })
      await process.exit(1, errorText(version, err)).catch(() => undefined) // the process has ended
    }
  }

  /** Executes a call. Returns the text that the plugin prints. @throws CniError */
  async #answer(process: PluginProcess, call: CniCall, version: string): Promise<string> {
    if (call.command === "VERSION") return versionText(version)
    const problem = versionProblem(version)
    if (problem !== undefined) throw problem
    const isLoopback = call.config["type"] === "loopback"
    const result = await (isLoopback
      ? loopback(process, call)
      : podNetwork(process, call, { clock: this.#clock, guard: this.#guard, signal: this.#running.signal }))
    return result === undefined ? "" : resultText(version, result)
  }
}

async function loopback(process: PluginProcess, call: CniCall): Promise<CniResult | undefined> {
  return call.command === "ADD" ? addLoopback(process, call) : undefined
}

async function podNetwork(
  process: PluginProcess,
  call: CniCall,
  { clock, guard, signal }: Pick<PluginServerOptions, "clock" | "guard"> & { readonly signal: AbortSignal },
): Promise<CniResult | undefined> {
  const network = networkOf(call)
  const rules = (await guard?.rules(process)) ?? NO_RULES
  const pod = { call, network, signal }
  switch (call.command) {
    case "ADD":
      return addPod(process, call, network, {
        rules,
        chain: (made) => addChained(pod, made),
        wait: (ms) => sleep(clock, ms, signal),
      })
    case "DEL":
      await removeChained(pod)
      await removePod(process, call, network, rules)
      return undefined
    case "CHECK":
      await checkPod(process, call, network)
      return undefined
    case "GC":
      await collect(process, call, network, rules)
      return undefined
    default:
      return undefined
  }
}
