import { Namespace } from "../../../../pkg/api/core/v1/namespace.ts"
import { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { addressAt, familyOf, parseAddress, parseNetwork } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import type { Labels } from "../../../../pkg/apimachinery/selectors/labels.ts"
import type { DnsConfig } from "../../../../pkg/cri/sandbox.ts"
import { didYouMean } from "../../../../pkg/names/suggest.ts"
import { checkOptionNames } from "../options/option-names.ts"
import type { MemoryStorage } from "../../../../pkg/storage/memory.ts"
import { StoredKind } from "../../../apiserver/cacher/stored-kind.ts"
import type { SendingPod } from "../../../kubelet/runtime/simulated/machine/pod-clients.ts"
import { podDns, type Resolver } from "../../../kubelet/sandbox/dns.ts"
import { podFacts } from "../../../network-policy/pod-facts.ts"
import { TestClusterError } from "../caller.ts"
import { refOf, type Reference } from "../verbs/selection.ts"
import { CLUSTER_DOMAIN, type ClusterAddresses } from "./network.ts"
import type { Party } from "./policy-verdict.ts"

/**
 * Who sends a request: a running pod (its name in `default`, `namespace/name`, or the object); some pod of a namespace,
 * with these labels; a process on a node; or a client outside of the cluster with this address.
 */
export type From =
  | Reference
  | { readonly namespace: string; readonly labels?: Readonly<Record<string, string>> }
  | { readonly node: string }
  | { readonly ip: string }

/** Who sends a request, with all that decides where it goes. */
export interface Sender {
  /** The node whose kube-proxy and DNS it uses; undefined outside of the cluster, and without nodes. */
  readonly node: string | undefined
  readonly isInside: boolean
  /** Its addresses, of the families of the cluster. */
  readonly ips: readonly string[]
  readonly party: Omit<Party, "ip">
  /** What its resolv.conf says; without servers it only knows names outside of the cluster. */
  readonly dns: Pick<DnsConfig, "servers" | "searches" | "options">
}

/** How long a sender waits for its answer, and what ends the wait. */
export interface Patience {
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
}

export interface SenderContext {
  readonly storage: MemoryStorage
  readonly addresses: Pick<ClusterAddresses, "clusterDns" | "clusterCidrs">
  /** The names of all nodes. */
  readonly nodes: readonly string[]
  /** Returns the addresses of a node. */
  ipsOf(node: string): readonly string[]
}

/** The resolv.conf of simulated nodes, which is empty. */
const HOST: Resolver = { servers: [], searches: [], options: [] }
const OPTIONS = { name: true, namespace: true, labels: true, node: true, ip: true }

/** Returns the sender that a test names; some pod of `default` unless given. @throws TestClusterError */
export function senderFrom(from: From | undefined, context: SenderContext): Sender {
  if (from === undefined) return somePod({ namespace: "default", labels: {} }, context)
  if (typeof from === "string" || "metadata" in from || "name" in from) return runningPod(from as Reference, context)
  checkOptionNames("from has no option", from, OPTIONS)
  if ("node" in from) return processOf(from.node, context)
  if ("ip" in from) return outside(from.ip)
  const { namespace = "default", labels = {} } = from as { readonly namespace?: string; readonly labels?: Labels }
  const namespaces = new StoredKind(context.storage, Namespace)
  if (namespaces.get({ name: namespace }) === undefined) {
    const known = namespaces.list().map(({ object }) => object.metadata.name!)
    throw new TestClusterError(
      `There is no namespace ${JSON.stringify(namespace)} to send from${didYouMean(namespace, known)}`,
    )
  }
  return somePod({ namespace, labels }, context)
}

/** Returns the sender for a pod whose container sends a request. */
export function senderOf(pod: SendingPod, context: SenderContext): Sender {
  const { namespace, name, labels, node, ips, hostNetwork } = pod
  const stored = new StoredKind(context.storage, Pod).get({ namespace, name })?.object
  // A container may outlive its Pod, when that was deleted by force.
  return stored === undefined || stored.spec.nodeName !== node
    ? {
        ...podSender({ namespace, labels }, node, ips, context),
        party: partyOf(hostNetwork, { namespace, labels }, node),
      }
    : senderOfPod(stored, ips, context)
}

function runningPod(reference: Reference, context: SenderContext): Sender {
  const ref = refOf(Pod, reference)
  const pods = new StoredKind(context.storage, Pod)
  const pod = pods.get(ref)?.object
  if (pod === undefined) {
    const known = pods.list().filter(({ object }) => object.metadata.namespace === ref.namespace)
    const names = known.map(({ object }) => object.metadata.name!)
    throw new TestClusterError(
      `There is no pod ${ref.namespace}/${ref.name} to send from${didYouMean(ref.name ?? "", names)}`,
    )
  }
  const ips = (pod.status.podIPs ?? []).map(({ ip }) => ip)
  if (ips.length === 0 || pod.status.phase !== "Running")
    throw new TestClusterError(
      `Cannot send from pod ${ref.namespace}/${ref.name}: it is ${pod.status.phase ?? "Pending"}, not Running`,
    )
  return senderOfPod(pod, ips, context)
}

function senderOfPod(pod: Pod, ips: readonly string[], { addresses }: SenderContext): Sender {
  const { nodeName = "", hostNetwork = false } = pod.spec
  const { namespace, labels, ports } = podFacts(pod, ips, nodeName)
  return {
    node: nodeName,
    isInside: true,
    ips,
    party: partyOf(hostNetwork, { namespace, labels: labels ?? {}, ports }, nodeName),
    dns: podDns(pod, { clusterDns: addresses.clusterDns, clusterDomain: CLUSTER_DOMAIN }, HOST),
  }
}

const partyOf = (
  hostNetwork: boolean,
  pod: { readonly namespace: string; readonly labels: Labels; readonly ports?: NonNullable<Party["pod"]>["ports"] },
  node: string | undefined,
): Sender["party"] => ({ pod: hostNetwork ? undefined : { ports: [], ...pod }, node, isNode: hostNetwork })

/** Returns a pod that is not there, at an address that no pod gets: that of the gateway of its cluster's range. */
function somePod(pod: { readonly namespace: string; readonly labels: Labels }, context: SenderContext): Sender {
  const ips = context.addresses.clusterCidrs.map((cidr) => addressAt(parseNetwork(cidr)!, 1))
  return podSender(pod, context.nodes[0], ips, context)
}

function podSender(
  pod: { readonly namespace: string; readonly labels: Labels },
  node: string | undefined,
  ips: readonly string[],
  { addresses }: SenderContext,
): Sender {
  const domains = [`${pod.namespace}.svc.${CLUSTER_DOMAIN}`, `svc.${CLUSTER_DOMAIN}`, CLUSTER_DOMAIN]
  return {
    node,
    isInside: true,
    ips,
    party: partyOf(false, pod, node),
    dns: { servers: addresses.clusterDns, searches: domains, options: ["ndots:5"] },
  }
}

function processOf(node: string, { nodes, ipsOf }: SenderContext): Sender {
  if (!nodes.includes(node))
    throw new TestClusterError(
      `There is no node ${JSON.stringify(node)} to send from${didYouMean(node, nodes) || `: the nodes are ${nodes.join(", ") || "none"}`}`,
    )
  return { node, isInside: true, ips: ipsOf(node), party: { pod: undefined, node, isNode: true }, dns: HOST }
}

function outside(ip: string): Sender {
  if (parseAddress(ip) === undefined)
    throw new TestClusterError(`Cannot send from ip ${JSON.stringify(ip)}: expected an address such as "203.0.113.7"`)
  return {
    node: undefined,
    isInside: false,
    ips: [ip],
    party: { pod: undefined, node: undefined, isNode: false },
    dns: HOST,
  }
}

/** Returns the sender's address of the family of `host`, or its main one. */
export const ownAddress = ({ ips }: Sender, host: string): string =>
  ips.find((ip) => familyOf(ip) === familyOf(host)) ?? ips[0] ?? ""
