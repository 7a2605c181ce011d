/** Defaults of flags that depend on this machine. */
import { existsSync, readFileSync } from "node:fs"
import { hostname, networkInterfaces } from "node:os"
import { parseResolvConf, type Resolver } from "../../../components/kubelet/sandbox/dns.ts"
import { isIP } from "node:net"
import { familyOf, type Family } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { isGlobalUnicast } from "../../../pkg/apimachinery/addresses/global-unicast.ts"

/** Returns the host's name as a valid node name: in lower case, without characters that DNS names cannot have. */
export const defaultNodeName = (name = hostname()): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, "-")
    .replace(/^[-.]+|(?<![-.])[-.]+$/g, "") || "k3ts"

/**
 * Returns the main address of this machine in each family. A machine without addresses of the first family has its
 * loopback address, and one without addresses of the second has one address.
 */
export function defaultNodeIps([primary = "IPv4", secondary]: readonly Family[]): readonly string[] {
  const first = mainAddress(primary) ?? (primary === "IPv4" ? "127.0.0.1" : "::1")
  const second = secondary === undefined ? undefined : mainAddress(secondary)
  return second === undefined ? [first] : [first, second]
}

/** Whether an interface of this machine has an address. */
export const isOwnAddress = (address: string): boolean =>
  Object.values(networkInterfaces()).some((all) => all?.some((one) => one.address === address))

/**
 * Returns the address of the device with the default route, else the first that other machines can reach; undefined
 * when there is none.
 */
function mainAddress(family: Family): string | undefined {
  const device = family === "IPv4" ? deviceOfDefaultRoute() : deviceOfDefaultRoute6()
  const interfaces = networkInterfaces()
  const candidates = [
    ...(device === undefined ? [] : (interfaces[device] ?? [])),
    ...Object.entries(interfaces)
      .filter(([name]) => !/^(cni|veth|k3ts|docker|lo)/.test(name))
      .flatMap(([, addresses]) => addresses ?? []),
  ]
  return candidates.find((one) => one.family === family && !one.internal && isReachable(one.address))?.address
}

/** An address of IPv6 that is only link-local is of no use to other machines; IPv4 may have nothing else. */
const isReachable = (address: string): boolean => familyOf(address) === "IPv4" || isGlobalUnicast(address)

/** Columns of the table: Iface Destination Gateway …; the default route has destination 0. */
const deviceOfDefaultRoute = (): string | undefined =>
  linesOf("/proc/net/route").find(([, destination]) => destination === "00000000")?.[0]

/** Columns of the table: destination, its prefix length, …, device. Routes on `lo` lead nowhere. */
const deviceOfDefaultRoute6 = (): string | undefined =>
  linesOf("/proc/net/ipv6_route")
    .find(
      ([destination, length, ...rest]) => /^0{32}$/.test(destination ?? "") && length === "00" && rest.at(-1) !== "lo",
    )
    ?.at(-1)

const linesOf = (path: string): readonly (readonly string[])[] =>
  readOr(path, "")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))

const SYSTEMD_RESOLV_CONF = "/run/systemd/resolve/resolv.conf"

/**
 * Returns the file with the name servers of the host. Pods cannot reach a server on loopback (systemd-resolved's stub,
 * dnsmasq), so in that case it is the file with systemd-resolved's real servers. Source: k3s pkg/agent/config
 * locateOrGenerateResolvConf.
 */
export function defaultResolvConf(): string {
  const usable = (path: string) => readResolvConf(path).servers.some((server) => !/^(127\.|::1$)/.test(server))
  return usable("/etc/resolv.conf") || !existsSync(SYSTEMD_RESOLV_CONF) ? "/etc/resolv.conf" : SYSTEMD_RESOLV_CONF
}

/** Returns what a resolv.conf says, without servers that are no addresses; nothing where there is no such file. */
export function readResolvConf(path: string): Pick<Resolver, "servers" | "searches"> {
  const { servers, searches } = parseResolvConf(readOr(path, ""))
  return { servers: servers.filter((server) => isIP(server.replace(/%.*$/, "")) !== 0), searches }
}

function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return otherwise
  }
}
