import { familyOf } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import { SyncRunner } from "../../../../pkg/component/sync-runner.ts"
import type { Logger } from "../../../../pkg/log/log.ts"
import { hostIn, type Host } from "../../../../pkg/netfilter/host.ts"
import { NETLINK_ROUTE } from "../../../../pkg/netlink/links.ts"
import { request, type NetlinkFile } from "../../../../pkg/netlink/socket.ts"
import { openNetlink } from "../../../../pkg/runtime/netlink.ts"
import type { Backend, Peer, Self, Ways } from "./backend.ts"
import { DEVICES } from "./backends.ts"
import { changesBetween, NO_WAYS, waysIn } from "./kernel-ways.ts"
import { PortGuard, removeGuard } from "./port-guard.ts"
import { removeDevices, removeWays } from "./remove-ways.ts"
import { uplinkOf } from "./uplink.ts"
import { pushAll } from "../../../../pkg/lists/push-all.ts"

/** The interval of checks, in milliseconds: another program may have removed our entries from the kernel. */
const CHECK_MS = 30_000
/** The wait before the first retry after a failure, in milliseconds; it doubles up to `CHECK_MS`. */
const RETRY_MS = 2000
/** The largest share of the time that is spent on this: any node can change what it announces without end. */
const MAX_SHARE = 0.1
/** Milliseconds of a run that count for that: in longer ones this process has waited for `nft` on a busy machine. */
const MOST_COUNTED_MS = 30

export interface NodeRoutesOptions {
  readonly backend: Backend
  readonly clock: Clock
  readonly log: Logger
  /** Returns what the kernel should have now; undefined while that is not known. */
  readonly wanted: () => Wanted | undefined
  /** Called with the largest packet, in bytes, that fits through the network between the nodes. */
  readonly measured?: ((mtu: number) => void) | undefined
  /** The network namespace instead of the process's own. */
  readonly netns?: string | undefined
}

/** What the kernel should have. */
export interface Wanted {
  readonly podCidrs: readonly string[]
  /** See `Self`. */
  readonly local: string
  readonly peers: readonly Peer[]
}

/**
 * Keeps the routes to the pods of other nodes in the kernel. Each run compares what the kernel has with what it should
 * have, and changes the differences. So it also repairs what other programs have changed, and removes what an earlier
 * start has left.
 */
export class NodeRoutes {
  readonly #options: NodeRoutesOptions
  readonly #runner: SyncRunner
  readonly #host: Host
  readonly #guard: PortGuard
  #socket: ReturnType<typeof openNetlink> | undefined
  /** Whether the remains of another backend have been removed. */
  #hasLeftOthers = false
  /** The last warning about peers that cannot be reached, so that it is logged once. */
  #lastWarning = ""
  #retryMs = RETRY_MS

  constructor(options: NodeRoutesOptions) {
    const { clock, log } = options
    this.#options = options
    this.#host = hostIn(options.netns)
    this.#guard = new PortGuard(this.#host, log)
    this.#runner = new SyncRunner({
      clock,
      sync: () => this.#timed(),
      maxShare: MAX_SHARE,
      failed: (err) => {
        const text = String(err)
        if (text !== this.#lastWarning) log.warn("Pods of other nodes cannot be reached; will retry", { err })
        this.#lastWarning = text
        const wait = this.#retryMs
        this.#retryMs = Math.min(wait * 2, CHECK_MS)
        return wait
      },
    })
  }

  /** Why pods of some other node cannot be reached; undefined where all can be. */
  get problem(): string | undefined {
    return this.#runner.problem
  }

  /** Resolves when a run has ended, with or without success. */
  async start(): Promise<void> {
    this.#runner.request()
    await this.#runner.start()
  }

  /** Called when what the kernel should have may have changed. */
  changed(): void {
    this.#runner.request()
  }

  /** Stops. The routes in the kernel stay, since pods keep running. */
  async stop(): Promise<void> {
    await this.#runner.stop()
    this.#options.backend.close?.()
    this.#socket?.close()
    this.#socket = undefined
  }

  /** Returns how many milliseconds of a run count. */
  async #timed(): Promise<number> {
    const { clock } = this.#options
    const wanted = this.#options.wanted()
    if (wanted === undefined) return 0
    const from = clock.monotonic()
    await this.#sync(wanted)
    return Math.min(MOST_COUNTED_MS, clock.monotonic() - from)
  }

  async #sync({ peers: all, podCidrs, local }: Wanted): Promise<void> {
    // A Node with this machine's address is an earlier name of it: its route would take the place of the bridge's own.
    const peers = all.filter(({ addresses }) => !addresses.includes(local))
    const { backend, netns, log } = this.#options
    const socket = (this.#socket ??= openNetlink(NETLINK_ROUTE, netns))
    if (peers.length === 0) return removeWays(socket, this.#host, backend.device === undefined ? [] : [backend.device])
    const self: Self = { podCidrs, local, uplink: await uplinkOf(socket, local) }
    this.#options.measured?.(self.uplink.mtu - backend.overhead(familyOf(local)))
    if (!this.#hasLeftOthers) await this.#leaveOthers(socket)
    // Before the interface takes packets.
    if (backend.guardedPort !== undefined)
      await this.#guard.keep(
        backend.guardedPort,
        peers.flatMap(({ sources }) => sources),
      )
    const index = await backend.ensure(socket, self)
    const problems: string[] = []
    const reached: Peer[] = []
    const ways = peers.map((peer) => {
      try {
        if (peer.type !== backend.type) throw new Error(`it has the backend ${peer.type}, this node ${backend.type}`)
        const found = backend.waysTo(peer, self, index)
        reached.push(peer)
        return found
      } catch (err) {
        problems.push(`node ${peer.name}: ${(err as Error).message}`)
        return NO_WAYS
      }
    })
    pushAll(problems, (await backend.connect?.(reached, self, index)) ?? [])
    const found = await waysIn(socket, backend.device === undefined ? undefined : index)
    const changes = changesBetween(found, joined(ways))
    for (const { what, message } of changes)
      await request(socket, [message]).catch((err: Error) => problems.push(`${what}: ${err.message}`))
    if (problems.length > 0) throw new Error(problems.join("; "))
    if (changes.length > 0) log.info("Set up the routes to the pods of other nodes", { nodes: peers.length })
    this.#lastWarning = ""
    this.#retryMs = RETRY_MS
    this.#runner.requestIn(CHECK_MS)
  }

  /** Removes what an earlier start with another backend has left, except routes, which are replaced. */
  async #leaveOthers(socket: NetlinkFile): Promise<void> {
    const { device, guardedPort } = this.#options.backend
    await removeDevices(
      socket,
      DEVICES.filter((name) => name !== device),
    )
    if (guardedPort === undefined) await removeGuard(this.#host)
    this.#hasLeftOthers = true
  }
}

const joined = (ways: readonly Ways[]): Ways => ({
  routes: ways.flatMap(({ routes }) => routes),
  neighbors: ways.flatMap(({ neighbors }) => neighbors),
  forwarding: ways.flatMap(({ forwarding }) => forwarding),
})
