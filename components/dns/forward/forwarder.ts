import type { Logger } from "../../../pkg/log/log.ts"
import { isWithin, type ForwardOptions } from "../config/zone.ts"
import type { DnsMetrics } from "../metrics.ts"
import type { Client } from "../wire/query.ts"
import type { Question } from "../wire/question.ts"
import type { AnswerCache } from "./answer-cache.ts"
import { Upstream, type UpstreamContext } from "./upstream.ts"

/**
 * The time in which servers are asked one after the other for one query. Source: CoreDNS plugin/forward,
 * defaultTimeout.
 */
const DEADLINE_MS = 5000
/** The share of `maxConcurrent` that one client may use. */
const CLIENT_SHARE = 0.25

export interface ForwarderContext extends UpstreamContext {
  readonly log: Logger
  readonly metrics: DnsMetrics
}

/** An answer of an upstream server, whose TTLs are `age` seconds old. */
export interface Passed {
  readonly message: Buffer
  readonly age: number
}

/** Why a query was not answered: too many queries are waiting, or no server answered. */
export type NotPassed = "busy" | "unreachable"

/**
 * Forwards queries to upstream servers and caches their answers. While no server answers, expired answers are served.
 * Sources: CoreDNS plugin/forward, RFC 8767.
 */
export class Forwarder {
  readonly #options: ForwardOptions
  readonly #cache: AnswerCache | undefined
  readonly #context: ForwarderContext
  readonly #upstreams: readonly Upstream[]
  readonly #underWay = new Map<string, Promise<Buffer | undefined>>()
  readonly #waiting = new Map<string, number>()
  #waits = 0
  #turn = 0

  constructor(options: ForwardOptions, cache: AnswerCache | undefined, context: ForwarderContext) {
    this.#options = options
    this.#cache = cache
    this.#context = context
    this.#upstreams = options.servers.map((server) => new Upstream(server, options.maxFails, context))
  }

  isFor(name: string): boolean {
    const { from, except } = this.#options
    return isWithin(name, from) && !except.some((zone) => isWithin(name, zone))
  }

  /** Returns a cached answer at once, or the answer of a server once it has come. Never rejects. */
  ask(question: Question, client: Client): Passed | NotPassed | Promise<Passed | NotPassed> {
    const kept = this.#cache?.find(question.key)
    if (this.#cache !== undefined) this.#context.metrics.cacheAsked(kept?.isFresh === true ? kept.kind : undefined)
    if (kept?.isFresh === true) return kept
    const stale = (): Passed | undefined => {
      if (kept !== undefined) this.#context.metrics.staleServed()
      return kept
    }
    // With an expired answer at hand, a client does not wait for servers that are known to fail.
    if (kept !== undefined && this.#upstreams.every(({ isResting }) => isResting)) return stale()!
    if (!this.#mayWait(client)) {
      this.#context.metrics.rejected()
      return stale() ?? "busy"
    }
    return this.#wait(question, client).then((message) =>
      message === undefined ? (stale() ?? "unreachable") : { message, age: 0 },
    )
  }

  #mayWait({ address }: Client): boolean {
    const { maxConcurrent } = this.#options
    const ofClient = this.#waiting.get(address) ?? 0
    return this.#waits < maxConcurrent && ofClient < Math.max(1, maxConcurrent * CLIENT_SHARE)
  }

  /** Waits for the answer of the servers. Clients with the same question at the same time share one query. */
  async #wait(question: Question, { address, protocol }: Client): Promise<Buffer | undefined> {
    this.#waits++
    this.#waiting.set(address, (this.#waiting.get(address) ?? 0) + 1)
    const asked = this.#underWay.get(question.key) ?? this.#askServers(question, protocol)
    this.#underWay.set(question.key, asked)
    try {
      return await asked
    } finally {
      this.#underWay.delete(question.key)
      this.#waits--
      const left = this.#waiting.get(address)! - 1
      if (left === 0) this.#waiting.delete(address)
      else this.#waiting.set(address, left)
    }
  }

  async #askServers(question: Question, clientProtocol: "udp" | "tcp"): Promise<Buffer | undefined> {
    const { clock, log, metrics } = this.#context
    const { protocol } = this.#options
    const began = clock.monotonic()
    for (const upstream of this.#order()) {
      const start = clock.monotonic()
      if (start - began >= DEADLINE_MS) break
      try {
        const message = await upstream.ask(question.message, protocol === "client" ? clientProtocol : protocol)
        metrics.forwarded(upstream.name, message.readUInt16BE(2) & 15, clock.monotonic() - start)
        this.#cache?.keep(question.key, message)
        return message
      } catch (err) {
        metrics.unanswered(upstream.name)
        log.debug("Upstream DNS server did not answer", { server: upstream.name, err })
      }
    }
    return undefined
  }

  /** Returns the servers in the order of the policy, with those that failed too often at the end. */
  #order(): readonly Upstream[] {
    const { policy } = this.#options
    const from =
      policy === "sequential"
        ? 0
        : policy === "round_robin"
          ? this.#turn++ % this.#upstreams.length
          : Math.floor(this.#context.random.next() * this.#upstreams.length)
    const turned = [...this.#upstreams.slice(from), ...this.#upstreams.slice(0, from)]
    return turned.toSorted((a, b) => Number(a.isResting) - Number(b.isResting))
  }
}
