import { existsSync } from "node:fs"
import { findInterface } from "../../../../pkg/netlink/find-link.ts"
import {
  addAddress,
  addressBytes,
  addressIn,
  createVeth,
  deleteLink,
  findLink,
  linkIn,
  type Link,
  listAddresses,
  NETLINK_ROUTE,
  setUp,
  setUpPort,
} from "../../../../pkg/netlink/links.ts"
import { addDefaultRoute } from "../../../../pkg/netlink/routes.ts"
import { KernelError, list, request, type NetlinkFile } from "../../../../pkg/netlink/socket.ts"
import type { SourceRules } from "../sources/source-guard.ts"
import type { PodSource } from "../sources/source-table.ts"
import { sourceIn, type Attachment } from "./attachments.ts"
import { awaitPort } from "./await-port.ts"
import { ensureBridge, gatewayOf } from "./bridges.ts"
import { CODE, CniError, type CniCall, type CniResult } from "./cni.ts"
import type { NetworkConfig } from "./network-config.ts"
import type { PluginProcess } from "./plugin-process.ts"
import { macOf, portMac, portName } from "./pod-names.ts"
import { PodAddresses, type AddressOwner } from "./pod-addresses.ts"

/** Source: asm-generic/errno-base.h. */
const ENODEV = 19

interface AddTools {
  readonly rules: SourceRules
  /** Runs other plugins for the pod's further needs. */
  chain(made: CniResult): Promise<void>
  /** Resolves after some milliseconds. */
  wait(ms: number): Promise<void>
}

/**
 * Creates the interface of a pod: a pair of interfaces, one in the pod's network namespace and one a port of the
 * bridge, with an address and a default route of each family. Then calls `chain`.
 * @throws CniError when no address is free; Error when the kernel refuses. Nothing is left then, unless the process has
 *   ended: what remains is removed by DEL, which the runtime calls after each failure
 */
export async function addPod(
  process: PluginProcess,
  call: CniCall,
  network: NetworkConfig,
  { rules, chain, wait }: AddTools,
): Promise<CniResult> {
  const addresses = new PodAddresses(network.addresses)
  const owner = ownerOf(call)
  const there = addresses.of(owner)
  if (there.length > 0)
    throw new CniError(CODE.failed, `${call.containerId} has addresses of network ${network.name}: ${there.join(", ")}`)
  const host = await process.netlink(NETLINK_ROUTE)
  const bridge = await ensureBridge(host, network)
  const given = allocate(addresses, network, owner)
  const source = sourceOf(owner, given)
  const { port, mac } = source
  try {
    await rules.admit(source)
    const { file: namespaceFd, socket: pod } = await process.enter(call.namespace, NETLINK_ROUTE)
    const peer = { name: call.interface, mac, namespaceFd }
    const pair = createVeth({ name: port, mac: portMac(port), bridge: bridge.index, mtu: network.mtu, peer })
    // The calls are made in order. If the first fails, so does the second, and only the first error has the reason.
    const creating = request(host, [pair, setUpPort(port)])
    const finding = request(pod, [findLink(call.interface)])
    await Promise.allSettled([creating, finding])
    await creating
    const [podLink] = await finding
    const { index } = linkIn(podLink!)
    await request(pod, [
      setUp(index),
      ...given.map((address, i) => addAddress(index, `${address}/${network.ranges[i]!.prefix}`)),
      ...network.ranges.map((range) => addDefaultRoute(index, gatewayOf(range), network.routeMtu)),
    ])
    await awaitPort(host, port, wait)
    const made = resultOf(call, network, bridge, source)
    await chain(made)
    return made
  } catch (err) {
    // If this fails too, for example because the process has ended, the first error is reported, and DEL removes the
    // rest.
    await undo().catch(() => undefined)
    throw err
  }

  async function undo(): Promise<void> {
    await removePort(host, port)
    await rules.forget(source)
    for (const address of given) addresses.release(address, owner)
  }
}

function resultOf(
  call: CniCall,
  { bridge, ranges }: NetworkConfig,
  { mac: bridgeMac }: Link,
  pod: PodSource,
): CniResult {
  return {
    interfaces: [
      { name: bridge, mac: bridgeMac },
      { name: pod.port, mac: portMac(pod.port) },
      { name: call.interface, mac: pod.mac, sandbox: call.namespace },
    ],
    ips: pod.addresses.map((address, i) => ({
      address: `${address}/${ranges[i]!.prefix}`,
      gateway: gatewayOf(ranges[i]!),
      interface: 2,
    })),
    routes: ranges.map(({ family }) => ({ dst: family === "IPv6" ? "::/0" : "0.0.0.0/0" })),
  }
}

/** Removes what `addPod` made, or the plugin `bridge`; nothing where it is gone already. */
export async function removePod(
  process: PluginProcess,
  call: CniCall,
  network: NetworkConfig,
  rules: SourceRules,
): Promise<void> {
  const addresses = new PodAddresses(network.addresses)
  const owner = ownerOf(call)
  const host = await process.netlink(NETLINK_ROUTE)
  // The ports of the plugin `bridge` have other names.
  if (!(await removePort(host, portName(owner))) && call.namespace !== "") await removeInside(process, call)
  const kept = addresses.of(owner)
  if (kept.length > 0) await rules.forget(sourceOf(owner, kept))
  const recorded = sourceIn(call.config["prevResult"], call.interface)
  if (recorded !== undefined) await rules.forget(recorded)
  for (const address of kept) addresses.release(address, owner)
}

/** Returns the addresses from which packets may enter through the port of a pod that `addPod` made. */
const sourceOf = (owner: AddressOwner, addresses: readonly string[]): PodSource => ({
  port: portName(owner),
  mac: macOf(addresses),
  addresses,
})

async function removeInside(process: PluginProcess, { namespace, interface: name }: CniCall): Promise<void> {
  if (!existsSync(namespace)) return
  const { socket } = await process.enter(namespace, NETLINK_ROUTE)
  await removePort(socket, name)
}

/** Returns whether the interface existed. */
async function removePort(socket: NetlinkFile, name: string): Promise<boolean> {
  try {
    await request(socket, [deleteLink(name)])
    return true
  } catch (err) {
    if (err instanceof KernelError && err.errno === ENODEV) return false
    throw err
  }
}

/** Checks that everything that `addPod` made exists. @throws CniError that names what is missing */
export async function checkPod(process: PluginProcess, call: CniCall, network: NetworkConfig): Promise<void> {
  const given = new PodAddresses(network.addresses).of(ownerOf(call))
  if (given.length === 0) throw new CniError(CODE.unknownContainer, `no address is allocated to ${call.containerId}`)
  const { socket: pod } = await process.enter(call.namespace, NETLINK_ROUTE)
  const found = await findInterface(pod, call.interface)
  if (found === undefined) throw new CniError(CODE.failed, `the interface ${call.interface} does not exist`)
  const { index, isUp } = found
  if (!isUp) throw new CniError(CODE.failed, `${call.interface} is down`)
  const present = (await list(pod, listAddresses())).map(addressIn)
  const lacking = given.filter(
    (address) => !present.some((one) => one.index === index && one.bytes === addressBytes(address).toString("hex")),
  )
  if (lacking.length > 0) throw new CniError(CODE.failed, `${call.interface} lacks ${lacking.join(", ")}`)
}

/**
 * Removes the remains of all pods except those that the runtime names. A pod that cannot be removed does not stop the
 * removal of the others. Source: CNI spec, GC.
 * @throws Error of the first pod that could not be removed, after all others were
 */
export async function collect(
  process: PluginProcess,
  { config }: CniCall,
  network: NetworkConfig,
  rules: SourceRules,
): Promise<void> {
  const valid = (config["cni.dev/valid-attachments"] ?? []) as readonly { containerID?: string; ifname?: string }[]
  const kept = new Set(valid.map(({ containerID, ifname }) => `${containerID}/${ifname}`))
  const host = await process.netlink(NETLINK_ROUTE)
  const addresses = new PodAddresses(network.addresses)
  const failures: unknown[] = []
  for (const owner of addresses.all().values()) {
    const own = addresses.of(owner)
    if (kept.has(`${owner.containerId}/${owner.interface}`) || own.length === 0) continue
    try {
      await removePort(host, portName(owner))
      await rules.forget(sourceOf(owner, own))
      for (const address of own) addresses.release(address, owner)
    } catch (err) {
      failures.push(err)
    }
  }
  if (failures.length > 0) throw failures[0]
}

/**
 * Frees the addresses of pods whose interface is gone, for example after a crash between two steps. Returns these
 * addresses.
 */
export function releaseUnused(
  folder: string,
  attachments: readonly Attachment[],
  isPort: (name: string) => boolean,
): readonly string[] {
  const addresses = new PodAddresses(folder)
  const attached = new Set(attachments.map(({ owner }) => `${owner.containerId}/${owner.interface}`))
  const unused = [...addresses.all()].filter(
    ([, owner]) => !attached.has(`${owner.containerId}/${owner.interface}`) && !isPort(portName(owner)),
  )
  for (const [address, owner] of unused) addresses.release(address, owner)
  return unused.map(([address]) => address)
}

function allocate(addresses: PodAddresses, { ranges }: NetworkConfig, owner: AddressOwner): readonly string[] {
  try {
    return addresses.allocate(ranges, owner)
  } catch (err) {
    throw new CniError(CODE.noAddress, (err as Error).message)
  }
}

const ownerOf = ({ containerId, interface: name }: CniCall): AddressOwner => ({ containerId, interface: name })
