/**
 * Decides what NetworkPolicies allow directly by k8s.io/api networking/v1/types.go, without any table; the kernel's
 * rules are compared with it.
 */
import { isIPv6 } from "node:net"
import type { LabelSelector } from "../../../pkg/apimachinery/meta.ts"

export type Labels = Readonly<Record<string, string>>
export type Protocol = "TCP" | "UDP" | "SCTP"
export interface PeerInput {
  readonly podSelector?: LabelSelector
  readonly namespaceSelector?: LabelSelector
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] }
}
export interface PortInput {
  readonly protocol?: Protocol
  readonly port?: number | string
  readonly endPort?: number
}
export interface PolicyInput {
  readonly namespace: string
  readonly name: string
  readonly podSelector: LabelSelector
  readonly policyTypes: readonly ("Ingress" | "Egress")[]
  readonly ingress?: readonly { readonly from?: readonly PeerInput[]; readonly ports?: readonly PortInput[] }[]
  readonly egress?: readonly { readonly to?: readonly PeerInput[]; readonly ports?: readonly PortInput[] }[]
}
export interface PodInput {
  readonly namespace: string
  readonly name: string
  readonly labels: Labels
  readonly address: string
  readonly ports: readonly { readonly name: string; readonly protocol: Protocol; readonly number: number }[]
}
export interface World {
  readonly policies: readonly PolicyInput[]
  readonly pods: readonly PodInput[]
  readonly namespaces: Readonly<Record<string, Labels>>
}

/** A pod, or an address outside of the cluster. */
export type End = PodInput | { readonly address: string }

export function isAllowed(world: World, from: End, to: End, port: number, protocol: Protocol): boolean {
  if (from === to) return true
  const isolating = (end: End, type: "Ingress" | "Egress") =>
    !("labels" in end)
      ? []
      : world.policies.filter(
          ({ namespace, podSelector, policyTypes }) =>
            namespace === end.namespace && policyTypes.includes(type) && selects(podSelector, end.labels),
        )
  const [out, into] = [isolating(from, "Egress"), isolating(to, "Ingress")]
  const letsOut = out.some(({ namespace, egress = [] }) =>
    egress.some(({ to: peers, ports }) => isPeer(world, namespace, peers, to) && isPort(ports, to, port, protocol)),
  )
  const letsIn = into.some(({ namespace, ingress = [] }) =>
    ingress.some(
      ({ from: peers, ports }) => isPeer(world, namespace, peers, from) && isPort(ports, to, port, protocol),
    ),
  )
  return (out.length === 0 || letsOut) && (into.length === 0 || letsIn)
}

function isPeer(world: World, namespace: string, peers: readonly PeerInput[] = [], end: End): boolean {
  if (peers.length === 0) return true
  return peers.some(({ podSelector, namespaceSelector, ipBlock }) => {
    if (ipBlock !== undefined)
      return inRange(ipBlock.cidr, end.address) && !(ipBlock.except ?? []).some((range) => inRange(range, end.address))
    if (!("labels" in end)) return false
    const isThere =
      namespaceSelector === undefined
        ? end.namespace === namespace
        : selects(namespaceSelector, world.namespaces[end.namespace] ?? {})
    return isThere && (podSelector === undefined || selects(podSelector, end.labels))
  })
}

function isPort(ports: readonly PortInput[] = [], to: End, number: number, protocol: Protocol): boolean {
  if (ports.length === 0) return true
  return ports.some(({ protocol: wanted = "TCP", port, endPort }) => {
    if (wanted !== protocol) return false
    if (port === undefined) return true
    if (typeof port === "number") return number >= port && number <= (endPort ?? port)
    return (
      "ports" in to && to.ports.some((one) => one.name === port && one.protocol === protocol && one.number === number)
    )
  })
}

function selects({ matchLabels = {}, matchExpressions = [] }: LabelSelector, labels: Labels): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key]
      if (operator === "Exists") return value !== undefined
      if (operator === "DoesNotExist") return value === undefined
      const isOne = value !== undefined && values.includes(value)
      return operator === "In" ? isOne : !isOne
    })
  )
}

function inRange(cidr: string, address: string): boolean {
  const [network = "", length = ""] = cidr.split("/")
  if (isIPv6(network) !== isIPv6(address)) return false
  return bits(network).slice(0, Number(length)) === bits(address).slice(0, Number(length))
}

/** Returns the bits of an address as a text of zeros and ones. */
function bits(address: string): string {
  if (!isIPv6(address))
    return address
      .split(".")
      .map((part) => Number(part).toString(2).padStart(8, "0"))
      .join("")
  const [head = "", tail = ""] = address.split("::")
  const [left, right] = [head.split(":").filter(Boolean), tail.split(":").filter(Boolean)]
  return [...left, ...Array<string>(8 - left.length - right.length).fill("0"), ...right]
    .map((group) => Number.parseInt(group, 16).toString(2).padStart(16, "0"))
    .join("")
}
