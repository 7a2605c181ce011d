import type { NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from "../../api/networking/v1/networkpolicy.ts"
import type { Describer } from "./describing.ts"
import { describeAnnotations, describeLabels, selectorText } from "./metadata.ts"
import { description, type PrefixWriter } from "./prefix-writer.ts"
import { plainTime } from "./times.ts"

const NETWORK_POLICIES = { group: "networking.k8s.io", version: "v1", resource: "networkpolicies" }
const INDENT = "    "

export const describeNetworkPolicy: Describer = async (describing, namespace, name) => {
  const { metadata, spec } = await describing.client.get<NetworkPolicy>(NETWORK_POLICIES, namespace, name)
  return description((w) => {
    w.row(0, "Name:", metadata.name ?? "")
    w.row(0, "Namespace:", metadata.namespace ?? "")
    w.row(0, "Created on:", plainTime(metadata.creationTimestamp, describing.zone))
    describeLabels(w, "Labels", metadata.labels)
    describeAnnotations(w, "Annotations", metadata.annotations)
    w.row(0, "Spec:")
    describeSelector(w, spec)
    const { ingress = [], egress = [], policyTypes = [] } = spec
    describeDirection(w, INGRESS, {
      affected: policyTypes.includes("Ingress"),
      rules: ingress.map(({ ports = [], from = [] }) => ({ ports, peers: from })),
    })
    describeDirection(w, EGRESS, {
      affected: policyTypes.includes("Egress"),
      rules: egress.map(({ ports = [], to = [] }) => ({ ports, peers: to })),
    })
    w.row(1, `Policy Types: ${policyTypes.join(", ") || "<none>"}`)
  })
}

function describeSelector(w: PrefixWriter, { podSelector }: NetworkPolicy["spec"]): void {
  const { matchLabels = {}, matchExpressions = [] } = podSelector ?? {}
  const all = Object.keys(matchLabels).length === 0 && matchExpressions.length === 0
  w.write(1, "PodSelector: ")
  w.row(2, all ? "<none> (Allowing the specific traffic to all pods in this namespace)" : selectorText(podSelector))
}

interface Direction {
  readonly name: "ingress" | "egress"
  readonly peers: "From" | "To"
  readonly end: "source" | "destination"
}
const INGRESS: Direction = { name: "ingress", peers: "From", end: "source" }
const EGRESS: Direction = { name: "egress", peers: "To", end: "destination" }

interface Rule {
  readonly ports: readonly NetworkPolicyPort[]
  readonly peers: readonly NetworkPolicyPeer[]
}

function describeDirection(
  w: PrefixWriter,
  { name, peers: title, end }: Direction,
  { affected, rules }: { readonly affected: boolean; readonly rules: readonly Rule[] },
): void {
  if (!affected) return w.row(1, `Not affecting ${name} traffic`)
  w.row(1, `Allowing ${name} traffic:`)
  if (rules.length === 0) w.row(0, `${INDENT}<none> (Selected pods are isolated for ${name} connectivity)`)
  for (const [i, { ports, peers }] of rules.entries()) {
    if (ports.length === 0) w.row(0, `${INDENT}To Port: <any> (traffic allowed to all ports)`)
    for (const { port = "<nil>", endPort, protocol } of ports)
      w.row(
        0,
        endPort === undefined
          ? `${INDENT}To Port: ${port}/${protocol}`
          : `${INDENT}To Port Range: ${port}-${endPort}/${protocol}`,
      )
    if (peers.length === 0) w.row(0, `${INDENT}${title}: <any> (traffic not restricted by ${end})`)
    for (const peer of peers) {
      w.row(0, `${INDENT}${title}:`)
      describePeer(w, peer)
    }
    if (i < rules.length - 1) w.row(0, `${INDENT}----------`)
  }
}

function describePeer(w: PrefixWriter, { podSelector, namespaceSelector, ipBlock }: NetworkPolicyPeer): void {
  if (namespaceSelector) w.row(1, `${INDENT}NamespaceSelector: ${selectorText(namespaceSelector)}`)
  if (podSelector) w.row(1, `${INDENT}PodSelector: ${selectorText(podSelector)}`)
  if (namespaceSelector || podSelector || !ipBlock) return
  w.row(1, `${INDENT}IPBlock:`)
  w.row(2, `${INDENT}CIDR: ${ipBlock.cidr}`)
  w.row(2, `${INDENT}Except: ${(ipBlock.except ?? []).join(", ")}`)
}
