/**
 * Evaluates a table for a forwarded connection: reads rules as nft would, as far as policies use them, and throws for
 * any other.
 */
import { parseAddress } from "../../../pkg/apimachinery/addresses/cidr.ts"
import type { NftTable } from "../nft-table.ts"

export interface Connection {
  readonly client: string
  readonly server: string
  readonly port: number
  readonly protocol: string
  readonly state: "new" | "established"
}

export function isForwarded(table: NftTable, connection: Connection): boolean {
  return ["egress-forward", "ingress-forward"].every((chain) => run(table, chain, connection) !== "drop")
}

type Verdict = "accept" | "drop" | undefined

function run(table: NftTable, chain: string, connection: Connection): Verdict {
  for (const rule of table.rulesOf(chain)) {
    const words = rule.match(/\{[^}]*\}|\S+/g)!
    const outcome = match(table, words, connection)
    if (outcome === undefined) continue
    const [verb, target] = outcome
    if (verb === "accept" || verb === "drop") return verb
    const inner = run(table, target!, connection)
    if (inner !== undefined || verb === "goto") return inner
  }
  return undefined
}

/** Returns the verdict of a rule whose matches are all true; undefined otherwise. */
function match(table: NftTable, words: readonly string[], c: Connection): readonly string[] | undefined {
  const family = c.client.includes(":") ? "ipv6" : "ipv4"
  const ip = family === "ipv4" ? "ip" : "ip6"
  let i = 0
  const next = () => words[i++]!
  while (i < words.length) {
    const word = next()
    if (word === "accept" || word === "drop") return [word]
    if (word === "jump" || word === "goto") return [word, next()]
    // Rules about the link, errors and untracked packets do not concern connections between pods.
    if (word === "iifname" || word === "icmpv6") return undefined
    if (word === "meta") {
      const [key, value] = [next(), next()]
      if (key === "nfproto" ? value !== family : key !== "l4proto" || !inSet(table, value, c.protocol.toLowerCase()))
        return undefined
    } else if (word === "ct") {
      if (words[i] === "state") {
        if (!words[i + 1]!.split(",").includes(c.state)) return undefined
        i += 2
        continue
      }
      if (words[i] === "status") return undefined // nobody translates addresses
      const keys = [field(next, ip, c)]
      while (words[i] === "." && i++ >= 0 && next() === "ct") keys.push(field(next, ip, c))
      if (keys.includes(undefined)) return undefined
      const set = next()
      if (set === "vmap") {
        const verdict = table.elements(next().slice(1)).get(keys.join(" . "))
        return verdict?.split(" ")
      }
      if (!inSet(table, set, keys.join(" . "))) return undefined
    } else throw new Error(`nobody knows "${word}" in "${words.join(" ")}"`)
  }
  throw new Error(`no verdict in "${words.join(" ")}"`)
}

/** Returns a field of the connection; undefined when it has none. */
function field(next: () => string, ip: string, c: Connection): string | undefined {
  const direction = next()
  const what = next()
  if (what === "proto-src") return direction === "reply" ? String(c.port) : undefined
  const name = `${direction} ${next()}`
  if (what !== ip) return undefined
  return name === "original saddr" ? c.client : name === "reply saddr" ? c.server : undefined
}

function inSet(table: NftTable, set: string, key: string): boolean {
  const elements = set.startsWith("@")
    ? [...table.elements(set.slice(1)).keys()]
    : set.startsWith("{")
      ? set
          .slice(1, -1)
          .split(",")
          .map((one) => one.trim())
      : [set]
  return elements.some((element) => {
    if (element === key) return true
    const [first, last] = element.split("-")
    if (last === undefined || !/[.:\d]/.test(first!)) return false
    const [low, high, number] = [first!, last, key].map(numberOf)
    return low !== undefined && high !== undefined && number !== undefined && low <= number && number <= high
  })
}

const numberOf = (text: string): bigint | undefined => (/^\d+$/.test(text) ? BigInt(text) : parseAddress(text)?.number)
