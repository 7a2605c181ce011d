import type { Answer } from "dns-packet"
import type { Random } from "../../pkg/clock/random.ts"
import type { Data, Records } from "./records.ts"
import { reverseAddress } from "./reverse.ts"
import { RCODE, typeName, type Query } from "./wire/query.ts"
import type { Reply } from "./wire/reply.ts"

/** The TTL of answers about the cluster, in seconds. Source: CoreDNS kubernetes plugin's default. */
const TTL = 5

/**
 * A response from the cluster's records. `external` is the target of an ExternalName Service outside the cluster: the
 * caller resolves it and appends its records.
 */
export interface OwnAnswer {
  readonly reply: Reply
  readonly external?: string
}

/** Answers a query for `name` from the cluster's records; undefined when the name is outside the cluster's zones. */
export function answerOwn(
  query: Query,
  name: string,
  { records, domain, random }: { readonly records: Records; readonly domain: string; readonly random: Random },
): OwnAnswer | undefined {
  const type = typeName(query)
  const ip = reverseAddress(name)
  const found =
    ip === undefined ? (records.owns(name) ? records.find(name, type) : "foreign") : (records.reverse(ip) ?? "foreign")
  if (found === "foreign") return undefined
  const base: Reply = {
    rcode: RCODE.noError,
    authoritative: true,
    answers: [],
    authorities: [],
    additionals: [],
    from: "kubernetes",
    isFixed: true,
  }
  if (found === undefined) return { reply: { ...base, rcode: RCODE.nameError, authorities: [soa(domain)] } }
  if (type === "SOA" && name === domain) return { reply: { ...base, answers: [soa(domain)] } }
  const alias = found.find((data) => data.type === "CNAME")
  if (alias?.type === "CNAME" && type !== "CNAME") {
    const target = alias.data.toLowerCase()
    const answers = [recordOf(name, alias)]
    if (!records.owns(target)) return { reply: { ...base, answers, isFixed: false }, external: target }
    const inside = (records.find(target) ?? []).filter((data) => data.type === type)
    return { reply: { ...base, answers: [...answers, ...inside.map((data) => recordOf(target, data))] } }
  }
  const wanted = found.filter((data) => data.type === type || type === "ANY")
  if (wanted.length === 0) return { reply: { ...base, authorities: [soa(domain)] } }
  const answers = shuffled(wanted, random).map((data) => recordOf(name, data))
  // Adds the addresses of SRV targets and name servers, so that clients need no second query.
  const targets = new Set(
    wanted.flatMap((each) => (each.type === "SRV" ? [each.data.target] : each.type === "NS" ? [each.data] : [])),
  )
  const additionals = [...targets].flatMap((target) =>
    (records.find(target) ?? [])
      .filter((data) => data.type === "A" || data.type === "AAAA")
      .map((data) => recordOf(target, data)),
  )
  return { reply: { ...base, answers, additionals, isFixed: wanted.length === 1 } }
}

function recordOf(name: string, data: Data): Answer {
  return { name, ttl: TTL, class: "IN", ...data } as Answer
}

/** Returns the record that says how long a negative answer may be cached. */
const soa = (domain: string): Answer => ({
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
