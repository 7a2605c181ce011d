import type { Clock } from "../../../../pkg/clock/clock.ts"
import type { Component } from "../../../../pkg/component/component.ts"
import type { Logger } from "../../../../pkg/log/log.ts"
import { FlushWatch } from "../../../../pkg/netfilter/flush-watch.ts"
import { hostIn, type Host } from "../../../../pkg/netfilter/host.ts"
import { removeTable, tableNames, transact } from "../../../../pkg/netfilter/nft.ts"
import { addElements, NETLINK_NETFILTER, removeElements } from "../../../../pkg/netlink/set-elements.ts"
import { KernelError, request, type NetlinkFile } from "../../../../pkg/netlink/socket.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import { elementsOf, sourceTable, SOURCES, TABLE, type PodSource } from "./source-table.ts"

/** Source: asm-generic/errno-base.h. */
const ENOENT = 2

export interface SourceGuardOptions {
  readonly clock: Clock
  readonly log: Logger
  /** Returns the pods whose ports exist. */
  readonly pods: () => readonly PodSource[]
  readonly host?: Host
}

/** Changes the table for one pod. */
export interface SourceRules {
  /** Lets in what a pod sends from its own addresses and nothing else; to be called before its port exists. */
  admit(pod: PodSource): Promise<void>
  /** Forgets a pod; to be called after its port is gone. */
  forget(pod: PodSource): Promise<void>
}

/** Where pods are not held to their addresses. */
export const NO_RULES: SourceRules = { admit: () => Promise.resolve(), forget: () => Promise.resolve() }

/**
 * Holds pods to their own addresses, by a table of nftables, which is written again where another program has removed
 * it. Where the host cannot have it, pods run without, and a warning says so.
 */
export class SourceGuard {
  readonly #options: SourceGuardOptions
  readonly #host: Host
  /** Pods that were admitted and not forgotten, by port: `pods` may not name the newest yet. */
  readonly #admitted = new Map<string, PodSource>()
  /** Whether the table is there. */
  #written: Promise<boolean> = Promise.resolve(false)
  #isWriting = false
  readonly #flushes: FlushWatch

  constructor(options: SourceGuardOptions) {
    const { clock, log, host = hostIn() } = options
    this.#options = options
    this.#host = host
    this.#flushes = new FlushWatch({
      clock,
      isIntact: async () => (await tableNames(host, "bridge")).includes(TABLE),
      flushed: () => {
        if (this.#isWriting) return
        log.warn("Another program removed the rules that restrict pods to their addresses; writing them again")
        this.start()
      },
      failed: (err) => log.warn("Failed to check the rules that restrict pods to their addresses; will retry", { err }),
    })
  }

  /** Begins to write the table; `rules` waits for it. */
  start(): void {
    this.#written = this.#write()
  }

  /** Resolves when nothing is being written any more. The rules stay when k3ts stops, since pods keep running. */
  async stop(): Promise<void> {
    this.#flushes.stop()
    await this.#written
    this.#flushes.stop() // the write has started it
    this.#written = Promise.resolve(false)
  }

  async #write(): Promise<boolean> {
    this.#isWriting = true
    try {
      const pods = new Map(this.#options.pods().map((pod) => [pod.port, pod]))
      for (const [port, pod] of this.#admitted) pods.set(port, pod)
      await transact(this.#host, sourceTable([...pods.values()]))
      this.#flushes.start()
      return true
    } catch (err) {
      this.#options.log.warn("Pods are not restricted to their own addresses: nftables refuses the rules", { err })
      return false
    } finally {
      this.#isWriting = false
    }
  }

  /** Returns the way to the rules for a process, which must be in the network namespace of the bridge. */
  async rules(process: { netlink(protocol: number): Promise<NetlinkFile> }): Promise<SourceRules> {
    if (!(await this.#written)) return NO_RULES
    const socket = await process.netlink(NETLINK_NETFILTER)
    return {
      admit: async (pod) => {
        this.#admitted.set(pod.port, pod)
        let hasWritten = false
        // Where the table is written anew meanwhile, it may be without the pod.
        for (let written = this.#written; await written;) {
          const isThere = await isTaken(socket, addElements(SOURCES, elementsOf(pod)))
          const isLast = this.#written === written
          if (isThere && isLast) return
          if (!isThere && isLast) {
            // Another program has removed all tables, as `nft flush ruleset` does. Only one pod writes ours again.
            if (hasWritten)
              return this.#options.log.warn("A pod is not restricted to its own addresses", { port: pod.port })
            hasWritten = true
            this.start()
          }
          written = this.#written
        }
      },
      forget: async (pod) => {
        this.#admitted.delete(pod.port)
        await isTaken(socket, removeElements(SOURCES, elementsOf(pod)))
      },
    }
  }
}

/** Makes a change. Returns false where the table is not there. */
async function isTaken(socket: NetlinkFile, messages: readonly Buffer[]): Promise<boolean> {
  try {
    await request(socket, messages)
    return true
  } catch (err) {
    if (err instanceof KernelError && err.errno === ENOENT) return false
    throw err
  }
}

/** Returns why the machine cannot hold pods to their addresses, or undefined. */
export async function sourceGuardProblem(host: Host): Promise<string | undefined> {
  try {
    await host.feed("nft", ["--check", "-f", "-"], sourceTable([]))
    return undefined
  } catch (err) {
    return errorMessage(err).split("\n")[0]
  }
}

/** Removes the rules. */
export const removeSourceGuard = (host: Host = hostIn()): Promise<void> => removeTable(host, "bridge", TABLE)

/** Removes the rules that an earlier start with a guard has left. */
export const withoutSourceGuard = (log: Logger): Component => ({
  name: "source-guard",
  start: () =>
    removeSourceGuard().catch((err: unknown) =>
      log.warn("Failed to remove the rules that restrict pods to their addresses", { err }),
    ),
  stop: () => Promise.resolve(),
})
