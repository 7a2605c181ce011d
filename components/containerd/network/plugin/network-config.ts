import { join } from "node:path"
import { parseNetwork, type Network } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import { CODE, CniError, isInterfaceName, type CniCall } from "./cni.ts"

/** The configuration of a network, as `cniConfig` writes it. */
export interface NetworkConfig {
  readonly version: string
  readonly name: string
  readonly bridge: string
  readonly mtu: number
  /** The largest packet that a pod sends beyond the node, in bytes; `mtu` where it is absent. */
  readonly routeMtu: number | undefined
  /** The ranges of pod addresses, one for each family; the first address of each is the bridge's. */
  readonly ranges: readonly Network[]
  /** The folder of the addresses that are in use. */
  readonly addresses: string
  /** The runtime's parameters for the pod, each of which may be absent. Source: CNI conventions, CONVENTIONS.md. */
  readonly runtime: Readonly<Record<string, unknown>>
}

const MTU = { least: 68, most: 65_535 }
const isMtu = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= MTU.least && (value as number) <= MTU.most

/** Returns the network of a call. @throws CniError that names the field */
export function networkOf({ config }: CniCall): NetworkConfig {
  const { cniVersion, name, bridge, mtu, routeMtu, ipam, runtimeConfig } = config
  if (typeof name !== "string" || !/^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/.test(name)) throw wrong("name", name)
  if (typeof bridge !== "string" || !isInterfaceName(bridge)) throw wrong("bridge", bridge)
  if (!isMtu(mtu)) throw wrong("mtu", mtu)
  if (routeMtu !== undefined && !isMtu(routeMtu)) throw wrong("routeMtu", routeMtu)
  const { ranges, dataDir } = recordOf(ipam)
  if (typeof dataDir !== "string" || !dataDir.startsWith("/")) throw wrong("ipam.dataDir", dataDir)
  return {
    version: typeof cniVersion === "string" ? cniVersion : "",
    name,
    bridge,
    mtu,
    routeMtu,
    ranges: rangesOf(ranges),
    addresses: join(dataDir, name),
    runtime: recordOf(runtimeConfig),
  }
}

/** Returns the first range of each list in host-local's form: `[[{"subnet": "10.42.0.0/24"}], …]`. */
function rangesOf(value: unknown): readonly Network[] {
  const lists = Array.isArray(value) ? (value as readonly unknown[]) : []
  if (lists.length === 0) throw wrong("ipam.ranges", value)
  return lists.map((list, i) => {
    const { subnet } = recordOf(Array.isArray(list) ? list[0] : undefined)
    const network = typeof subnet === "string" ? parseNetwork(subnet) : undefined
    if (network === undefined) throw wrong(`ipam.ranges[${i}][0].subnet`, subnet)
    return network
  })
}

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {}

const wrong = (field: string, value: unknown): CniError =>
  new CniError(CODE.invalidConfiguration, `invalid value ${JSON.stringify(value) ?? "(absent)"} for ${field}`)
