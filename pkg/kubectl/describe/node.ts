import type { Lease } from "../../api/coordination/v1/lease.ts"
import type { Node } from "../../api/core/v1/node/node.ts"
import type { Pod } from "../../api/core/v1/pod/pod.ts"
import type { ResourceSlice } from "../../api/resource/v1/resourceslice.ts"
import { errorMessage } from "../../errors/error-message.ts"
import { isForbidden } from "../errors/status-error.ts"
import { listInChunks } from "./describe-client.ts"
import type { Describer, Describing } from "./describing.ts"
import { describeEvents, involved, searchEvents } from "./events.ts"
import { describeAnnotations, describeLabels } from "./metadata.ts"
import { describeNodeUsage } from "./node-usage.ts"
import { PODS } from "./pod.ts"
import { description, type PrefixWriter } from "./prefix-writer.ts"
import { quantityText, type Quantities } from "./resources.ts"
import { longTime } from "./times.ts"

const NODES = { group: "", version: "v1", resource: "nodes" }
const LEASES = { group: "coordination.k8s.io", version: "v1", resource: "leases" }
const RESOURCE_SLICES = { group: "resource.k8s.io", version: "v1", resource: "resourceslices" }
const ROLE_PREFIX = "node-role.kubernetes.io/"
const ROLE_LABEL = "kubernetes.io/role"
const MOST_POOLS = 10

/** Source: NodeDescriber. */
export const describeNode: Describer = async (describing, _namespace, name) => {
  const { client, now } = describing
  const node = await client.get<Node>(NODES, "", name)
  const pods = await podsOn(describing, name)
  const events = describing.showEvents ? await eventsOfNode(describing, node) : undefined
  const slices = await client
    .list<ResourceSlice>(RESOURCE_SLICES, "", { fieldSelector: `spec.nodeName=${name}` })
    .catch(() => ({ items: [] }))
  const lease = await client.get<Lease>(LEASES, "kube-node-lease", name).catch((err: unknown) => errorMessage(err))
  return description((w) => {
    describeHead(w, node, describing)
    describeLease(w, lease, describing)
    describeConditions(w, node, describing)
    w.row(0, "Addresses:")
    for (const { type, address } of node.status.addresses ?? []) w.row(1, `${type}:`, address)
    describeAmounts(w, "Capacity:", node.status.capacity)
    describeAmounts(w, "Allocatable:", node.status.allocatable)
    describeSlices(w, slices.items)
    describeSystem(w, node)
    if (pods === undefined) w.row(0, "Pods:", "not authorized")
    else describeNodeUsage(w, node, pods, now())
    describeEvents(w, events, now())
  })
}

/** Returns the pods of a node that have not ended; undefined where the user may not see them. */
async function podsOn({ client, chunkSize }: Describing, node: string): Promise<readonly Pod[] | undefined> {
  const fieldSelector = `spec.nodeName=${node},status.phase!=Succeeded,status.phase!=Failed`
  const query = { path: PODS, namespace: "", query: { fieldSelector }, limit: chunkSize }
  return listInChunks<Pod>(client, query).catch((err: unknown) => {
    if (isForbidden(err)) return undefined
    throw err
  })
}

/** Returns the events of controllers, which name a node by its UID, and those of the kubelet, which uses its name. */
async function eventsOfNode(describing: Describing, node: Node) {
  const object = involved(node)
  const events = await searchEvents(describing, object)
  return [...events, ...(await searchEvents(describing, { ...object, uid: object.name }))]
}

function describeHead(w: PrefixWriter, { metadata, spec }: Node, { zone }: Describing): void {
  w.row(0, "Name:", metadata.name ?? "")
  w.row(0, "Roles:", rolesOf(metadata.labels).join(",") || "<none>")
  describeLabels(w, "Labels", metadata.labels)
  describeAnnotations(w, "Annotations", metadata.annotations)
  w.row(0, "CreationTimestamp:", longTime(metadata.creationTimestamp, zone))
  w.write(0, "Taints:\t")
  const taints = (spec.taints ?? [])
    .toSorted((a, b) => (`${a.effect},${a.key}` < `${b.effect},${b.key}` ? -1 : 1))
    .map(({ key, value, effect }) => `${key}${value ? `=${value}` : ""}${effect ? `:${effect}` : ""}`)
  if (taints.length === 0) w.line("<none>")
  for (const [i, taint] of taints.entries()) w.write(0, `${i === 0 ? "" : "\t"}${taint}\n`)
  w.row(0, "Unschedulable:", spec.unschedulable ?? false)
}

/** Returns the roles that labels give a node, in their order. */
function rolesOf(labels: Readonly<Record<string, string>> = {}): string[] {
  const roles = Object.entries(labels).flatMap(([key, value]) =>
    key.startsWith(ROLE_PREFIX) ? [key.slice(ROLE_PREFIX.length)] : key === ROLE_LABEL ? [value] : [],
  )
  return [...new Set(roles.filter((role) => role !== ""))].sort()
}

function describeLease(w: PrefixWriter, lease: Lease | string, { zone }: Describing): void {
  if (typeof lease === "string") return w.row(0, "Lease:", `Failed to get lease: ${lease}`)
  const { holderIdentity = "<unset>", acquireTime, renewTime } = lease.spec ?? {}
  w.row(0, "Lease:")
  w.row(1, "HolderIdentity:", holderIdentity)
  w.row(1, "AcquireTime:", acquireTime ? longTime(acquireTime, zone) : "<unset>")
  w.row(1, "RenewTime:", renewTime ? longTime(renewTime, zone) : "<unset>")
}

function describeConditions(w: PrefixWriter, { status }: Node, { zone }: Describing): void {
  const { conditions = [] } = status
  if (conditions.length === 0) return
  w.write(0, "Conditions:\n  Type\tStatus\tLastHeartbeatTime\tLastTransitionTime\tReason\tMessage\n")
  w.row(1, "----", "------", "-----------------", "------------------", "------", "-------")
  for (const { type, status: state, lastHeartbeatTime, lastTransitionTime, reason = "", message = "" } of conditions) {
    const [beat, changed] = [longTime(lastHeartbeatTime, zone), longTime(lastTransitionTime, zone)]
    w.row(1, `${type} `, `${state} `, `${beat} `, `${changed} `, `${reason} `, message)
  }
}

function describeAmounts(w: PrefixWriter, title: string, amounts: Quantities | undefined = {}): void {
  const names = Object.keys(amounts).sort()
  if (names.length > 0) w.row(0, title)
  for (const name of names) w.row(0, `  ${name}:`, quantityText(amounts[name]))
}

/** Writes how many devices the pools of a node have. */
function describeSlices(w: PrefixWriter, slices: readonly ResourceSlice[]): void {
  const pools = Map.groupBy(slices, ({ spec }) => `${spec.driver}/${spec.pool.name}`)
  if (pools.size === 0) return
  w.row(0, "Node-Local ResourceSlices:")
  w.row(1, "Driver", "Pool", "Slices", "Devices")
  w.row(1, "------", "----", "------", "-------")
  const names = [...pools.keys()].sort()
  for (const name of names.slice(0, MOST_POOLS)) {
    const pool = pools.get(name)!
    const { driver, pool: of } = pool[0]!.spec
    const devices = pool.reduce((sum, { spec }) => sum + (spec.devices?.length ?? 0), 0)
    w.row(1, driver, of.name, pool.length, devices)
  }
  if (names.length > MOST_POOLS) w.row(1, `...and ${names.length - MOST_POOLS} more pools`)
}

function describeSystem(w: PrefixWriter, { spec, status }: Node): void {
  const info = status.nodeInfo
  w.row(0, "System Info:")
  w.row(0, "  Machine ID:", info?.machineID ?? "")
  w.row(0, "  System UUID:", info?.systemUUID ?? "")
  w.row(0, "  Boot ID:", info?.bootID ?? "")
  w.row(0, "  Kernel Version:", info?.kernelVersion ?? "")
  w.row(0, "  OS Image:", info?.osImage ?? "")
  w.row(0, "  Operating System:", info?.operatingSystem ?? "")
  w.row(0, "  Architecture:", info?.architecture ?? "")
  w.row(0, "  Container Runtime Version:", info?.containerRuntimeVersion ?? "")
  w.row(0, "  Kubelet Version:", info?.kubeletVersion ?? "")
  if (spec.podCIDR) w.row(0, "PodCIDR:", spec.podCIDR)
  if (spec.podCIDRs?.length) w.row(0, "PodCIDRs:", spec.podCIDRs.join(","))
  if (spec.providerID) w.row(0, "ProviderID:", spec.providerID)
}
