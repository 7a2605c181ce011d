/**
 * Formats rules for nft. Rules check the connection to which a packet belongs, not the packet: in packets of both
 * directions its client is `ct original saddr`, its server `ct reply saddr` and the server's port `ct reply proto-src`.
 * So a response is allowed exactly as long as its request is, and a change of policies applies to established
 * connections at their next packet, without a change in the connection tracker. Connections through a Service are
 * checked for the pod that serves them and for the real client, whatever addresses the packet has.
 */
import { type Family } from "../../pkg/apimachinery/addresses/cidr.ts"
import { FAMILY_WORD } from "../../pkg/netfilter/nft.ts"
import { rangeText } from "./address-ranges.ts"
import type { Direction, NamedPort, PodSelection, PolicyRule, PortRange, Protocol } from "./policy-rules.ts"

/** Returns the names of the sets that a rule needs. */
export interface SetNames {
  /** Returns the name of a set of the pods that any of the selections has. */
  pods(selections: readonly PodSelection[], family: Family): string
  /** Returns the name of a set of the pods' ports that have any of these names, of one protocol. */
  namedPorts(ports: readonly NamedPort[], family: Family): string
  /** Returns the name of a set of these port numbers. */
  ports(ranges: readonly PortRange[]): string
}

/**
 * Returns the nft rules for one rule of a policy, each for one family: at most two for its peers times six for its
 * ports, however many it has of both. A rule for each pair would take minutes to write, and the packets' time.
 */
export function ruleText(
  direction: Direction,
  { peers, ports }: PolicyRule,
  families: readonly Family[],
  names: SetNames,
): readonly string[] {
  if (peers === undefined && ports === undefined) return ["accept"]
  return families.flatMap((family) => {
    const ip = FAMILY_WORD[family]
    const peer = direction === "ingress" ? `ct original ${ip} saddr` : `ct reply ${ip} saddr`
    const ranges = peers?.ranges.filter((range) => range.family === family) ?? []
    const whom =
      peers === undefined
        ? [`meta nfproto ${family.toLowerCase()} `]
        : [
            ...(peers.pods.length === 0 ? [] : [`${peer} @${names.pods(peers.pods, family)} `]),
            ...(ranges.length === 0 ? [] : [`${peer} { ${ranges.map(rangeText).join(", ")} } `]),
          ]
    const where =
      ports === undefined
        ? [""]
        : [
            ...byProtocol(ports.ranges).map(
              ([protocol, of]) => `meta l4proto ${protocol.toLowerCase()} ${portMatch(of, names)}`,
            ),
            ...namesByProtocol(ports.names).map(
              ([protocol, of]) =>
                `meta l4proto ${protocol.toLowerCase()} ct reply ${ip} saddr . ct reply proto-src ` +
                `@${names.namedPorts(of, family)} `,
            ),
          ]
    return whom.flatMap((who) => where.map((what) => `${who}${what}accept`))
  })
}

/** Returns the named ports of each protocol. */
export const namesByProtocol = (
  names: readonly NamedPort[],
): readonly (readonly [Protocol, readonly NamedPort[]])[] => [...Map.groupBy(names, ({ protocol }) => protocol)]

function byProtocol(ranges: readonly PortRange[]): readonly (readonly [Protocol, readonly PortRange[]])[] {
  const protocols = [...new Set(ranges.map(({ protocol }) => protocol))]
  return protocols.map((protocol) => [protocol, mergedPorts(ranges.filter((range) => range.protocol === protocol))])
}

/**
 * A single number is part of the rule; several are a named set, since nft cannot print such numbers in an anonymous
 * set.
 */
function portMatch(ranges: readonly PortRange[], names: SetNames): string {
  const [first] = ranges
  if (first!.first === 0) return "" // all ports: the one range that is left begins at 0
  if (ranges.length === 1 && first!.first === first!.last) return `ct reply proto-src ${first!.first} `
  return `ct reply proto-src @${names.ports(ranges)} `
}

/** Merges overlapping and adjacent ranges, in ascending order. */
function mergedPorts(ranges: readonly PortRange[]): readonly PortRange[] {
  const result: PortRange[] = []
  for (const range of ranges.toSorted((a, b) => a.first - b.first)) {
    const before = result.at(-1)
    if (before === undefined || range.first > before.last + 1) result.push(range)
    else if (range.last > before.last) result[result.length - 1] = { ...before, last: range.last }
  }
  return result
}

export const portText = ({ first, last }: PortRange): string => (first === last ? `${first}` : `${first}-${last}`)
