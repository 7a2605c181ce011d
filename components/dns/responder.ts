import type { Clock } from "../../pkg/clock/clock.ts"
import { contain } from "../../pkg/failure/contain.ts"
import type { Logger } from "../../pkg/log/log.ts"
import type { DnsMetrics } from "./metrics.ts"
import { ServiceLeftOut } from "./noted-services.ts"
import type { Resolver } from "./resolver.ts"
import { readQuery, typeName, type Client, type Query } from "./wire/query.ts"
import { passReply, serverFailure, writeRefusal, writeReply } from "./wire/reply.ts"
import { rcodeOf, type Outcome } from "./zone-server.ts"

/** The most encoded responses that are cached, and the longest query for which one is, in bytes. */
const MOST_READY = 4096
const LONGEST_QUESTION = 512

interface Ready {
  readonly answer: Buffer
  readonly rcode: number
  readonly from: string
  readonly type: number
  readonly zone: string
}

export interface ResponderOptions {
  readonly resolver: Resolver
  readonly metrics: DnsMetrics
  readonly clock: Pick<Clock, "monotonic">
  readonly log: Logger
}

/**
 * Turns the bytes of a query into those of its response. Responses about names of the cluster are cached as encoded
 * until a name changes: a query that differs only in its id then skips the decoding, the look-up and the encoding.
 */
export class Responder {
  readonly #options: ResponderOptions
  readonly #ready = new Map<string, Ready>()
  #version = 0

  constructor(options: ResponderOptions) {
    this.#options = options
  }

  /** Empties the cache, because names of the cluster or the configuration have changed. */
  forget(): void {
    this.#ready.clear()
    this.#version++
  }

  /** Returns the response; undefined if the message gets none. */
  respond(message: Buffer, client: Client): Buffer | undefined | Promise<Buffer> {
    const began = this.#options.clock.monotonic()
    const isShort = message.length > 2 && message.length <= LONGEST_QUESTION
    const key = isShort ? `${client.protocol} ${message.toString("latin1", 2)}` : undefined
    const ready = key === undefined ? undefined : this.#ready.get(key)
    if (ready !== undefined) {
      const answer = Buffer.from(ready.answer)
      message.copy(answer, 0, 0, 2)
      this.#count(ready, message, answer, client, began)
      return answer
    }
    const query = readQuery(message, client)
    if (query === undefined) return undefined
    if (typeof query !== "number") return this.#resolve(query, key, began)
    const answer = writeRefusal(message, query)
    this.#count({ rcode: query, from: "", type: -1, zone: "dropped" }, message, answer, client, began)
    return answer
  }

  async #resolve(query: Query, key: string | undefined, began: number): Promise<Buffer> {
    const { resolver, log, clock } = this.#options
    const { zone } = resolver.zoneOf(query.name)
    const version = this.#version
    const { outcome, answer } = await this.#outcome(query)
    const told = { rcode: rcodeOf(outcome), from: outcome.from, type: query.type, zone: `${zone.name}.` }
    this.#count(told, query.message, answer, query.client, began)
    // Not cached if names have changed meanwhile, or if every query is logged.
    if (key !== undefined && "isFixed" in outcome && outcome.isFixed && version === this.#version && !zone.logs) {
      this.#ready.set(key, { ...told, answer })
      if (this.#ready.size > MOST_READY) this.#ready.delete(this.#ready.keys().next().value!)
    }
    if (zone.logs)
      log.info("Answered", {
        client: query.client.address,
        name: query.name,
        type: typeName(query) ?? query.type,
        rcode: told.rcode,
        ms: Math.round(clock.monotonic() - began),
      })
    return answer
  }

  /** A query whose answer cannot be made gets SERVFAIL, as CoreDNS answers after a panic. */
  async #outcome(query: Query): Promise<{ readonly outcome: Outcome; readonly answer: Buffer }> {
    const { resolver, log } = this.#options
    try {
      const outcome = await resolver.answer(query)
      const answer = "message" in outcome ? passReply(query, outcome.message, outcome.age) : writeReply(query, outcome)
      return { outcome, answer }
    } catch (err) {
      if (!(err instanceof ServiceLeftOut)) contain("DNS query", err, log)
      const outcome = serverFailure("kubernetes")
      return { outcome, answer: writeReply(query, outcome) }
    }
  }

  #count(
    { rcode, from, type, zone }: Omit<Ready, "answer">,
    asked: Buffer,
    answer: Buffer,
    client: Client,
    began: number,
  ) {
    const { metrics, clock } = this.#options
    metrics.answered({
      client,
      type,
      zone,
      rcode,
      from,
      requestBytes: asked.length,
      responseBytes: answer.length,
      ms: clock.monotonic() - began,
    })
  }
}
