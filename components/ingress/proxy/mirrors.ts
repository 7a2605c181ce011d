import { FairShare } from "../../../pkg/flow/fair-share.ts"
import type { Field } from "../messages/head.ts"
import type { Mirror } from "../routing/target.ts"
import type { BackendParts } from "./backend-parts.ts"
import {
  hasBody,
  type Endpoint,
  type OutgoingRequest,
  type Upstream,
  type UpstreamHandlers,
} from "../messages/messages.ts"
import type { Watched } from "./watchdog.ts"

/** The most copies at a time, of which each namespace gets a share. More requests are passed on without a copy. */
const MOST_AT_ONCE = 512
/**
 * The most bytes of bodies that wait for slow endpoints: of one copy, and of all, of which each namespace gets a share.
 * Each part costs a little more.
 */
const MOST_WAITING = 512 * 1024
const MOST_WAITING_IN_ALL = 32 * 1024 * 1024
const PART_COST = 256
/** The most bytes of an answer that are read and dropped, so that its connection can be used again. */
const MOST_DROPPED = 64 * 1024
const CONNECT_MS = 5000
/** The longest time for an answer after the end of the request. */
const ANSWER_MS = 30_000

/**
 * Sends copies of requests to other Services. A copy never delays its request: it is tried once, its answer is dropped,
 * and it is broken off when its endpoint is slower than the client and the request's own endpoint.
 */
export class Mirrors {
  readonly #parts: BackendParts
  readonly #open = new Set<Copy>()
  /** By the namespace of the route, so that slow endpoints of one do not cost the copies of others. */
  readonly #places = new FairShare(MOST_AT_ONCE)
  readonly #waiting = new FairShare(MOST_WAITING_IN_ALL)

  constructor(parts: BackendParts) {
    this.#parts = parts
  }

  /**
   * Begins the copies of a request, each with the probability that its mirror asks for. `namespace` is that of the
   * route.
   */
  begin(
    mirrors: readonly Mirror[],
    { namespace, client }: { readonly namespace: string; readonly client: string },
    request: OutgoingRequest,
  ): readonly Copy[] {
    // What follows a change of the protocol is no request.
    if (request.upgrade !== undefined) return []
    return mirrors.flatMap(({ to, share }) => {
      if (this.#parts.chance() >= share) return []
      const picked = this.#parts.pick(to, [], client)
      if (picked === undefined || !this.#places.take(namespace)) return []
      const copy = new Copy(request, {
        ...this.#parts,
        ended: (over) => {
          this.#open.delete(over)
          this.#places.giveBack(namespace)
        },
        mayWait: (cost) => this.#waiting.take(namespace, cost),
        waitsNoMore: (cost) => this.#waiting.giveBack(namespace, cost),
      })
      this.#open.add(copy)
      copy.connect(picked.endpoint, picked.protocol)
      return [copy]
    })
  }

  stop(): void {
    for (const copy of this.#open) copy.abort()
  }
}

interface CopyParts extends Pick<BackendParts, "connector" | "watchdog"> {
  /** Called when the copy is over, whether it was answered or not. */
  readonly ended: (copy: Copy) => void
  /** Counts bytes that are to wait. False when others wait that are too many with these; nothing is counted then. */
  readonly mayWait: (cost: number) => boolean
  readonly waitsNoMore: (cost: number) => void
}

/** A copy of one request on its way to an endpoint. */
export class Copy implements Watched {
  due = Infinity
  place = -1
  readonly #parts: CopyParts
  readonly #request: OutgoingRequest
  #upstream: Upstream | undefined
  #stopConnecting: (() => void) | undefined
  /** Parts of the body that the endpoint cannot take yet. */
  #waiting: Buffer[] = []
  #waitingCost = 0
  #isBlocked = true
  /** Set when the request's body is complete. */
  #trailers: readonly Field[] | undefined
  #isSent = false
  #dropped = 0
  #isOver = false

  constructor(request: OutgoingRequest, parts: CopyParts) {
    this.#parts = parts
    this.#request = request
    if (!hasBody(request.framing)) this.#trailers = []
  }

  /** Whether it was answered or broken off. */
  get isOver(): boolean {
    return this.#isOver
  }

  connect(endpoint: Endpoint, protocol: Parameters<BackendParts["connector"]["connect"]>[1]): void {
    const { watchdog, connector } = this.#parts
    watchdog.add(this, CONNECT_MS)
    this.#stopConnecting = connector.connect(endpoint, protocol, true, (result) => {
      this.#stopConnecting = undefined
      if (this.#isOver) {
        if (!(result instanceof Error)) result.abort()
      } else if (result instanceof Error) this.abort()
      else this.#send(result)
    })
    if (this.#isOver || this.#upstream !== undefined) this.#stopConnecting = undefined
  }

  /** Another part of the request's body. */
  data(chunk: Buffer): void {
    if (this.#isOver) return
    if (!this.#isBlocked) {
      this.#isBlocked = !this.#upstream!.write(chunk)
      return
    }
    const cost = chunk.length + PART_COST
    if (this.#waitingCost + cost > MOST_WAITING || !this.#parts.mayWait(cost)) return this.abort()
    this.#waiting.push(chunk)
    this.#waitingCost += cost
  }

  /** The request's body is complete. */
  bodyEnd(trailers: readonly Field[]): void {
    if (this.#isOver || this.#trailers !== undefined) return
    this.#trailers = trailers
    if (this.#upstream !== undefined && this.#waiting.length === 0) this.#endRequest(trailers)
  }

  /** The exchange has ended: a copy whose body is incomplete is broken off. */
  exchangeEnded(): void {
    if (this.#trailers === undefined) this.abort()
  }

  /** Ends the copy; after its answer this does nothing to the connection. */
  abort(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#takeWaiting()
    this.#parts.watchdog.remove(this)
    this.#stopConnecting?.()
    this.#upstream?.abort()
    this.#upstream = undefined
    this.#parts.ended(this)
  }

  overdue(): void {
    this.abort()
  }

  readonly #handlers: UpstreamHandlers = {
    head: ({ status }) => {
      if (status === 101) this.abort()
    },
    data: (chunk) => {
      this.#dropped += chunk.length
      if (this.#dropped > MOST_DROPPED) this.abort()
    },
    end: () => this.abort(),
    flush: () => undefined,
    drained: () => this.#drain(),
    failed: () => this.abort(),
  }

  #send(upstream: Upstream): void {
    this.#upstream = upstream
    this.#parts.watchdog.expect(this, Infinity)
    upstream.send(this.#request, this.#handlers)
    if (this.#isOver) return
    upstream.flush()
    this.#drain()
  }

  #drain(): void {
    if (this.#isOver || this.#upstream === undefined) return
    this.#isBlocked = false
    for (const chunk of this.#takeWaiting()) this.data(chunk)
    if (!this.#isOver && this.#trailers !== undefined && this.#waiting.length === 0) this.#endRequest(this.#trailers)
  }

  #takeWaiting(): readonly Buffer[] {
    const waiting = this.#waiting
    this.#waiting = []
    this.#parts.waitsNoMore(this.#waitingCost)
    this.#waitingCost = 0
    return waiting
  }

  #endRequest(trailers: readonly Field[]): void {
    if (this.#isSent) return
    this.#isSent = true
    this.#parts.watchdog.expect(this, ANSWER_MS)
    this.#upstream!.end(trailers)
  }
}
