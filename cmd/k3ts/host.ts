/** Defaults of flags that depend on this machine. */
import { existsSync, readFileSync } from "node:fs"
import { hostname, networkInterfaces } from "node:os"
import { isIP } from "node:net"

/** Returns the host's name as a valid node name: in lower case, without characters that DNS names cannot have. */
export const defaultNodeName = (name = hostname()): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, "-")
    .replace(/^[-.]+|(?<![-.])[-.]+$/g, "") || "k3ts"

/** Returns the IPv4 address of the device with the default route, else the first that is not loopback. */
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
 * Returns the file with the name servers of the host. Pods cannot reach a server on loopback (systemd-resolved's stub,
 * dnsmasq), so in that case it is the file with systemd-resolved's real servers. Source: k3s pkg/agent/config
 * locateOrGenerateResolvConf.
 */
export function defaultResolvConf(): string {
  const usable = (path: string) => nameServers(path).some((server) => !/^(127\.|::1$)/.test(server))
  return usable("/etc/resolv.conf") || !existsSync(SYSTEMD_RESOLV_CONF) ? "/etc/resolv.conf" : SYSTEMD_RESOLV_CONF
}

/** Returns the servers in a resolv.conf. */
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
