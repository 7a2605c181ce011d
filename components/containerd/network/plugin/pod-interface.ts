import { createHash } from "node:crypto"
import { existsSync, writeFileSync } from "node:fs"
import { addressAt, addressNumber, familyOf, type Network } from "../../../../pkg/apimachinery/cidr.ts"
import {
  addAddress,
  addDefaultRoute,
  addressBytes,
  addressIn,
  createBridge,
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
import { KernelError, list, request, type NetlinkFile } from "../../../../pkg/netlink/socket.ts"
import { ALIAS } from "../bridge.ts"
import type { SourceRules } from "../sources/source-guard.ts"
import type { PodSource } from "../sources/source-table.ts"
import { sourceIn, type Attachment } from "./attachments.ts"
import { CODE, CniError, type CniCall, type CniResult } from "./cni.ts"
import type { NetworkConfig } from "./network-config.ts"
import type { PluginProcess } from "./plugin-process.ts"
import { PodAddresses, type AddressOwner } from "./pod-addresses.ts"

/** Source: asm-generic/errno-base.h, errno.h. */
const [EEXIST, ENODEV] = [17, 19]

/**
 * Creates the interface of a pod: a pair of interfaces, one in the pod's network namespace and one a port of the
 * bridge, with an address and a default route of each family. Then calls `chain`.
 * @throws CniError when no address is free; Error when the kernel refuses. Nothing is left then
 */
export async function addPod(
  process: PluginProcess,
  call: CniCall,
  network: NetworkConfig,
  rules: SourceRules,
  chain: (made: CniResult) => Promise<void>,
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
    const namespaceFd = await process.enter(call.namespace)
    const pod = await process.netlink(NETLINK_ROUTE)
    const peer = { name: call.interface, mac, namespaceFd }
    const pair = createVeth({ name: port, bridge: bridge.index, mtu: network.mtu, peer })
    const [, , portLink] = await request(host, [pair, setUpPort(port), findLink(port)])
    const [podLink] = await request(pod, [findLink(call.interface)])
    const { index } = linkIn(podLink!)
    await request(pod, [
      setUp(index),
      ...given.map((address, i) => addAddress(index, `${address}/${network.ranges[i]!.prefix}`)),
      ...network.ranges.map((range) => addDefaultRoute(index, gatewayOf(range))),
    ])
    const made = {
      interfaces: [
        { name: network.bridge, mac: bridge.mac },
        { name: port, mac: linkIn(portLink!).mac },
        { name: call.interface, mac, sandbox: call.namespace },
      ],
      ips: given.map((address, i) => ({
        address: `${address}/${network.ranges[i]!.prefix}`,
        gateway: gatewayOf(network.ranges[i]!),
        interface: 2,
      })),
      routes: network.ranges.map(({ family }) => ({ dst: family === "IPv6" ? "::/0" : "0.0.0.0/0" })),
    }
    await chain(made)
    return made
  } catch (err) {
    await removePort(host, port)
    await rules.forget(source)
    for (const address of given) addresses.release(address)
    throw err
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
  // The plugin `bridge` gives ports other names.
  if (!(await removePort(host, portName(owner))) && call.namespace !== "") await removeInside(process, call)
  const kept = addresses.of(owner)
  if (kept.length > 0) await rules.forget(sourceOf(owner, kept))
  const recorded = sourceIn(call.config["prevResult"], call.interface)
  if (recorded !== undefined) await rules.forget(recorded)
  for (const address of kept) addresses.release(address)
}

/** Returns what may come in by the port of a pod that `addPod` made. */
const sourceOf = (owner: AddressOwner, addresses: readonly string[]): PodSource => ({
  port: portName(owner),
  mac: macOf(addresses),
  addresses,
})

async function removeInside(process: PluginProcess, { namespace, interface: name }: CniCall): Promise<void> {
  if (!existsSync(namespace)) return
  await process.enter(namespace)
  await removePort(await process.netlink(NETLINK_ROUTE), name)
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

/** Checks that all that `addPod` made is there. @throws CniError that says what is not */
export async function checkPod(process: PluginProcess, call: CniCall, network: NetworkConfig): Promise<void> {
  const given = new PodAddresses(network.addresses).of(ownerOf(call))
  if (given.length === 0) throw new CniError(CODE.unknownContainer, `no address is kept for ${call.containerId}`)
  await process.enter(call.namespace)
  const pod = await process.netlink(NETLINK_ROUTE)
  const found = await find(pod, call.interface)
  if (found === undefined) throw new CniError(CODE.failed, `${call.interface} is not there`)
  const { index, isUp } = found
  if (!isUp) throw new CniError(CODE.failed, `${call.interface} is down`)
  const present = (await list(pod, listAddresses())).map(addressIn)
  const lacking = given.filter(
    (address) => !present.some((one) => one.index === index && one.bytes === addressBytes(address).toString("hex")),
  )
  if (lacking.length > 0) throw new CniError(CODE.failed, `${call.interface} lacks ${lacking.join(", ")}`)
}

/** Removes everything of pods that the runtime does not name: what remains of those that it has forgotten. */
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
  for (const owner of addresses.all().values()) {
    const own = addresses.of(owner)
    if (kept.has(`${owner.containerId}/${owner.interface}`) || own.length === 0) continue
    await removePort(host, portName(owner))
    await rules.forget(sourceOf(owner, own))
    for (const address of own) addresses.release(address)
  }
}

/**
 * Gives back the addresses of pods whose interface is gone, as after a crash between two steps. Returns them.
 */
export function releaseUnused(
  folder: string,
  attachments: readonly Attachment[],
  isPort: (name: string) => boolean,
): readonly string[] {
  const addresses = new PodAddresses(folder)
  const attached = new Set(attachments.map(({ owner }) => `${owner.containerId}/${owner.interface}`))
  const unused = [...addresses.all()].flatMap(([address, owner]) =>
    attached.has(`${owner.containerId}/${owner.interface}`) || isPort(portName(owner)) ? [] : [address],
  )
  for (const address of unused) addresses.release(address)
  return unused
}

function allocate(addresses: PodAddresses, { ranges }: NetworkConfig, owner: AddressOwner): readonly string[] {
  try {
    return addresses.allocate(ranges, owner)
  } catch (err) {
    throw new CniError(CODE.noAddress, (err as Error).message)
  }
}

const ownerOf = ({ containerId, interface: name }: CniCall): AddressOwner => ({ containerId, interface: name })

/** Returns the name of the bridge's port for a pod, which follows from the pod so that nothing has to be kept. */
export const portName = ({ containerId, interface: name }: AddressOwner): string =>
  `veth${createHash("sha256").update(`${containerId}/${name}`).digest("hex").slice(0, 11)}`

/**
 * Returns the hardware address for a pod with these addresses. It follows from the address, so that who knows a former
 * pod's hardware address reaches the pod that has its address now. 0a is for local use, and Docker's prefix for it is
 * also that of the plugin `bridge`'s first versions.
 */
export function macOf(addresses: readonly string[]): string {
  const address = addresses.find((one) => familyOf(one) === "IPv4") ?? addresses[0]!
  const hex = (addressNumber(address) & 0xffff_ffffn).toString(16).padStart(8, "0")
  return `0a58${hex}`.replace(/..(?=.)/g, "$&:")
}

const gatewayOf = (range: Network): string => addressAt(range, 1)

/** Returns the bridge, which is made where it is not there, as after somebody has deleted it. */
async function ensureBridge(host: NetlinkFile, { bridge, mtu, ranges }: NetworkConfig): Promise<Link> {
  const known = await find(host, bridge)
  if (known === undefined) {
    const made = createBridge(bridge, { mac: macOf(ranges.map(gatewayOf)), mtu, alias: ALIAS })
    await unlessThere(request(host, [made])) // another pod may be faster
    ignoreRouters(bridge)
  }
  const found = known ?? (await find(host, bridge))!
  if (!found.isUp) await request(host, [setUp(found.index)])
  const gateways = ranges.map((range) => `${gatewayOf(range)}/${range.prefix}`)
  await Promise.all(gateways.map((gateway) => unlessThere(request(host, [addAddress(found.index, gateway)]))))
  return found
}

/** Returns an interface; undefined where there is none of the name. */
async function find(socket: NetlinkFile, name: string): Promise<Link | undefined> {
  try {
    const [found] = await request(socket, [findLink(name)])
    return linkIn(found!)
  } catch (err) {
    if (err instanceof KernelError && err.errno === ENODEV) return undefined
    throw err
  }
}

async function unlessThere(making: Promise<unknown>): Promise<void> {
  try {
    await making
  } catch (err) {
    if (!(err instanceof KernelError && err.errno === EEXIST)) throw err
  }
}

/** Keeps pods from giving the node routes by advertisements of IPv6. */
function ignoreRouters(bridge: string): void {
  try {
    writeFileSync(`/proc/sys/net/ipv6/conf/${bridge}/accept_ra`, "0")
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== "ENOENT") throw err // the kernel has no IPv6
  }
}
