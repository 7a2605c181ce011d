/** What flags default to on this machine. */
import { existsSync, readFileSync } from "node:fs"
import { hostname, networkInterfaces } from "node:os"
import { isIP } from "node:net"

/** The host's name as a node may be called: lower case, without what DNS names have not. */
export const defaultNodeName = (name = hostname()): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, "-")
    .replace(/^[-.]+|(?<![-.])[-.]+$/g, "") || "k3ts"

/** The IPv4 address of the device with the default route, else the first that is not loopback. */
export function defaultNodeIp(): string {
  // Columns: Iface Destination Gateway …; the default route has destination 0.
  const device = readOr("/proc/net/route", "")
    .split("\n")
    .map((line) => line.split(/\s+/))
    .find(([, destination]) => destination === "00000000")?.[0]
  const interfaces = networkInterfaces()
  const candidates = [
    ...(device === undefined ? [] : (interfaces[device] ?? [])),
    ...Object.entries(interfaces)
      .filter(([name]) => !/^(cni|veth|k3ts|docker|lo)/.test(name))
      .flatMap(([, addresses]) => addresses ?? []),
  ]
  return candidates.find(({ family, internal }) => family === "IPv4" && !internal)?.address ?? "127.0.0.1"
}

const SYSTEMD_RESOLV_CONF = "/run/systemd/resolve/resolv.conf"

/**
 * The file with the name servers of the host. A server on loopback (systemd-resolved's stub, dnsmasq) is out of a pod's
 * reach, so then the file in which systemd-resolved names the real ones. Source: k3s pkg/agent/config
 * locateOrGenerateResolvConf.
 */
export function defaultResolvConf(): string {
  const usable = (path: string) => nameServers(path).some((server) => !/^(127\.|::1$)/.test(server))
  return usable("/etc/resolv.conf") || !existsSync(SYSTEMD_RESOLV_CONF) ? "/etc/resolv.conf" : SYSTEMD_RESOLV_CONF
}

/** The servers a resolv.conf names. */
export const nameServers = (path: string): string[] =>
  [...readOr(path, "").matchAll(/^\s*nameserver\s+(\S+)/gm)]
    .map(([, server]) => server!)
    .filter((server) => isIP(server.replace(/%.*$/, "")) !== 0)

function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return otherwise
  }
}
