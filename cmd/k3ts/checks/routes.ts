import { existsSync, readFileSync } from "node:fs"
import type { Family } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { defaultDevices } from "../../../components/containerd/network/cni.ts"
import { found, warning, type Finding } from "./finding.ts"

/**
 * Returns a finding for each family. The kernel looks for a route before a rule rewrites an address of a Service, so
 * without a default route a program of the machine cannot connect to any, though its pods can.
 * @param ipv4 /proc/net/route
 * @param ipv6 /proc/net/ipv6_route
 */
export const judgeRoutes = (families: readonly Family[], ipv4: string, ipv6: string): Finding[] =>
  families.map((family) => {
    const devices = family === "IPv4" ? defaultDevices(ipv4, "") : defaultDevices("", ipv6)
    const ip = family === "IPv4" ? "ip" : "ip -6"
    return devices.length > 0
      ? found(`default route for ${family}`, devices.join(", "))
      : warning(
          `default route for ${family}`,
          "none: programs of this machine, unlike its pods, reach no Service",
          `${ip} route add default dev INTERFACE, if there is no gateway, and let the machine's network do so at boot`,
        )
  })

export const checkRoutes = (families: readonly Family[]): Finding[] =>
  judgeRoutes(families, textOf("/proc/net/route"), textOf("/proc/net/ipv6_route"))

/** A kernel without a family has no table of it. */
const textOf = (path: string): string => (existsSync(path) ? readFileSync(path, "utf8") : "")
