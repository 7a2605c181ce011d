import { decode, type Answer, type DecodedPacket } from "dns-packet"
import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import type { Informer } from "../../pkg/client/informer.ts"
import { answerOwn } from "./answer.ts"
import { nextNames } from "./autopath.ts"
import type { CACHE_DEFAULTS } from "./config/read-zone.ts"
import type { Zone } from "./config/zone.ts"
import { AnswerCache } from "./forward/answer-cache.ts"
import { Forwarder, type ForwarderContext } from "./forward/forwarder.ts"
import { answerHost, entriesTable, type HostTable } from "./hosts.ts"
import type { Records } from "./records.ts"
import { rewriteName } from "./rewrite.ts"
import { FLAG, RCODE, type Query } from "./wire/query.ts"
import { questionOf } from "./wire/question.ts"
import { failure, serverFailure, type Reply } from "./wire/reply.ts"

/** The message of an upstream server, which is passed on without decoding. */
export interface PassedOn {
  readonly message: Buffer
  /** Seconds to subtract from the TTLs in the message. */
  readonly age: number
  readonly from: "forward"
}

export type Outcome = Reply | PassedOn

export interface ZoneContext extends ForwarderContext {
  readonly records: Records
  /** e.g. cluster.local */
  readonly domain: string
  /** The addresses and names of nodes, which are looked up after the cluster's records. */
  readonly nodes: HostTable
  readonly pods: () => Informer<Pod>
  /** The search list of the host's resolv.conf. */
  readonly searches: readonly string[]
  /** Answers a name in whatever zone it is: used for the target of an ExternalName Service. */
  readonly resolve: (query: Query, name: string) => Promise<Outcome>
}

/** Answers the queries for names of one zone, by its configuration. */
export class ZoneServer {
  readonly zone: Zone
  readonly #context: ZoneContext
  readonly #hosts: HostTable | undefined
  readonly #cache: AnswerCache | undefined
  readonly #forwarders: readonly Forwarder[]

  constructor(zone: Zone, context: ZoneContext) {
    this.zone = zone
    this.#context = context
    this.#hosts = zone.hosts && entriesTable(zone.hosts)
    this.#cache = zone.cache && new AnswerCache(context.clock, zone.cache)
    this.#forwarders = zone.forwards.map((options) => new Forwarder(options, this.#cache, context))
  }

  kept(kind: keyof typeof CACHE_DEFAULTS): number {
    return this.#cache?.count(kind) ?? 0
  }

  /**
   * Answers a query after rewriting its name. The response carries the name of the query again. Never rejects because
   * of what an upstream server sends.
   */
  async answer(query: Query): Promise<Outcome> {
    const name = rewriteName(query.name, this.zone.rewrites)
    const outcome = await this.resolve(query, name)
    if (name === query.name) return outcome
    const { answers, ...rest } = replyOf(outcome)
    return {
      ...rest,
      answers: answers.map((each) => (sameName(each.name, name) ? { ...each, name: query.name } : each)),
    }
  }

  /** Answers `name` as it is, without rewriting it; with autopath also by the rest of the client's search list. */
  async resolve(query: Query, name: string): Promise<Outcome> {
    const outcome = await this.#ask(query, name)
    if (!this.zone.autopath || rcodeOf(outcome) !== RCODE.nameError) return outcome
    const { domain, searches, pods } = this.#context
    for (const next of nextNames(name, query.client.address, { pods: pods(), domain, searches })) {
      const found = await this.#ask(query, next)
      if (rcodeOf(found) !== RCODE.noError) continue
      const alias: Answer = { type: "CNAME", name, ttl: 5, class: "IN", data: next }
      const reply = replyOf(found)
      return { ...reply, answers: [alias, ...reply.answers], authorities: [], from: "autopath", isFixed: false }
    }
    // The response depends on the client's search list, so it must not be cached for other clients.
    return "message" in outcome ? outcome : { ...outcome, isFixed: false }
  }

  async #ask(query: Query, name: string): Promise<Outcome> {
    const { hosts, cluster } = this.zone
    const here = this.#hosts && answerHost(query, name, this.#hosts)
    if (here !== undefined) return here
    if (hosts?.fallsThrough === false && !cluster && this.#forwarders.length === 0)
      return { ...failure(RCODE.nameError, "hosts"), isFixed: true }
    const own = cluster ? answerOwn(query, name, this.#context) : undefined
    if (own?.external !== undefined) {
      const outside = replyOf(await this.#context.resolve(query, own.external))
      return { ...own.reply, answers: [...own.reply.answers, ...outside.answers] }
    }
    if (own !== undefined) return own.reply
    // After the cluster's records: a machine that joins chooses its name.
    const node = cluster ? answerHost(query, name, this.#context.nodes) : undefined
    if (node !== undefined) return node
    const forwarder = this.#forwarders.find((each) => each.isFor(name))
    if (forwarder === undefined) return serverFailure("")
    const passed = await forwarder.ask(questionOf(query, name), query.client)
    if (passed === "busy") return failure(RCODE.refused, "forward")
    return passed === "unreachable" ? serverFailure("forward") : { ...passed, from: "forward" }
  }
}

export const rcodeOf = (outcome: Outcome): number =>
  "message" in outcome ? outcome.message.readUInt16BE(2) & 15 : outcome.rcode

/** Returns an upstream server's message as a decoded reply, so that records can be added. */
function replyOf(outcome: Outcome): Reply {
  if (!("message" in outcome)) return outcome
  let packet: DecodedPacket
  try {
    packet = decode(outcome.message)
  } catch {
    return serverFailure(outcome.from) // dns-packet cannot decode the data of a record
  }
  const aged = (records: readonly Answer[] = []): readonly Answer[] =>
    records
      .filter(({ type }) => type !== "OPT")
      .map((each) => ("ttl" in each ? { ...each, ttl: Math.max(0, Number(each.ttl) - outcome.age) } : each))
  return {
    rcode: rcodeOf(outcome),
    authoritative: (outcome.message.readUInt16BE(2) & FLAG.authoritative) !== 0,
    answers: aged(packet.answers),
    authorities: aged(packet.authorities),
    additionals: aged(packet.additionals),
    from: outcome.from,
    isFixed: false,
  }
}

const sameName = (a: string, b: string): boolean => a.toLowerCase().replace(/\.$/, "") === b
