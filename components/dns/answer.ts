import type { Answer, Packet, Question } from "dns-packet"
import type { Random } from "../../pkg/clock/random.ts"
import type { Data, Records } from "./records.ts"

/** The TTL of answers about the cluster, in seconds. Source: CoreDNS kubernetes plugin's default. */
const TTL = 5
/** Bits of a message's flags. Source: RFC 1035 4.1.1. */
export const FLAG = {
  authoritative: 1 << 10,
  truncated: 1 << 9,
  recursionDesired: 1 << 8,
  recursionAvailable: 1 << 7,
} as const
export const RCODE = { formatError: 1, serverFailure: 2, nameError: 3, notImplemented: 4 } as const

/**
 * An answer from the cluster's own names; undefined when the question is not ours; `external` is a name outside to
 * resolve as well (an ExternalName's).
 */
export interface OwnAnswer {
  readonly packet: Packet
  readonly external?: string
}

export function answerOwn(
  query: Packet,
  question: Question,
  records: Records,
  domain: string,
  random: Random,
): OwnAnswer | undefined {
  const name = question.name.toLowerCase().replace(/\.$/, "")
  const ip = reverseAddress(name)
  const found =
    ip === undefined ? (records.owns(name) ? records.find(name) : "foreign") : (records.reverse(ip) ?? "foreign")
  if (found === "foreign") return undefined
  const flags = FLAG.authoritative | FLAG.recursionAvailable | ((query.flags ?? 0) & FLAG.recursionDesired)
  const base: Packet = { type: "response", id: query.id ?? 0, flags, questions: [question] }
  if (found === undefined) return { packet: { ...base, flags: flags | RCODE.nameError, authorities: [soa(domain)] } }
  const alias = found.find(({ type }) => type === "CNAME")
  if (alias?.type === "CNAME" && question.type !== "CNAME") {
    const target = alias.data.toLowerCase()
    const answers = [recordOf(question.name, alias)]
    if (!records.owns(target)) return { packet: { ...base, answers }, external: target }
    const inside = (records.find(target) ?? []).filter(({ type }) => type === question.type)
    return { packet: { ...base, answers: [...answers, ...inside.map((data) => recordOf(target, data))] } }
  }
  const wanted = found.filter(({ type }) => type === question.type || (question.type as string) === "ANY")
  if (wanted.length === 0) return { packet: { ...base, authorities: [soa(domain)] } }
  const answers = shuffled(wanted, random).map((data) => recordOf(question.name, data))
  // Adds the addresses of SRV targets, so that clients need no second query.
  const targets = new Set(wanted.flatMap((each) => (each.type === "SRV" ? [each.data.target] : [])))
  const additionals = [...targets].flatMap((target) =>
    (records.find(target) ?? [])
      .filter(({ type }) => type === "A" || type === "AAAA")
      .map((data) => recordOf(target, data)),
  )
  return { packet: { ...base, answers, additionals } }
}

function recordOf(name: string, data: Data): Answer {
  return { name, ttl: TTL, class: "IN", ...data } as Answer
}

/** Returns the record that says how long a negative answer may be cached. */
export const soa = (domain: string): Answer => ({
  type: "SOA",
  name: domain,
  ttl: TTL,
  class: "IN",
  data: {
    mname: `ns.dns.${domain}`,
    rname: `hostmaster.${domain}`,
    serial: 1,
    refresh: 7200,
    retry: 1800,
    expire: 86_400,
    minimum: TTL,
  },
})

/** Shuffles addresses: most clients take the first one, so this spreads them. */
function shuffled<T>(items: readonly T[], random: Random): readonly T[] {
  const result = [...items]
  for (let i = result.length - 1; i > 0; i--) {
    const j = Math.floor(random.next() * (i + 1))
    ;[result[i], result[j]] = [result[j]!, result[i]!]
  }
  return result
}

/** `7.0.42.10.in-addr.arpa` → `10.42.0.7`; undefined when the name is no reverse name. */
export function reverseAddress(name: string): string | undefined {
  const v4 = /^(\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})\.in-addr\.arpa$/.exec(name)
  if (v4 !== null) return v4[1]!.split(".").reverse().join(".")
  const v6 = /^((?:[0-9a-f]\.){32})ip6\.arpa$/.exec(name)
  if (v6 === null) return undefined
  const hex = v6[1]!.split(".").slice(0, 32).reverse().join("")
  return compressed(hex.match(/.{4}/g)!.map((group) => group.replace(/^0+(?=.)/, "")))
}

/** Formats eight groups as RFC 5952 does: the longest run of zeros becomes `::`. */
function compressed(groups: readonly string[]): string {
  const runs = [...groups.join(":").matchAll(/(?:^|:)(0(?::0)+)(?=:|$)/g)].map(([, run]) => run!)
  const longest = runs.sort((a, b) => b.length - a.length)[0]
  return longest === undefined ? groups.join(":") : groups.join(":").replace(new RegExp(`(^|:)${longest}(:|$)`), "::")
}
