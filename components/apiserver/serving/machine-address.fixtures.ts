import { networkInterfaces } from "node:os"
import { isGlobalUnicast } from "../../../pkg/apimachinery/addresses/global-unicast.ts"

/**
 * An IPv4 address of this machine that is not loopback's: proxies go to no other. @throws Error on a machine without
 * any
 */
export function machineAddress(): string {
  for (const { address, family } of Object.values(networkInterfaces()).flatMap((all) => all ?? []))
    if (family === "IPv4" && isGlobalUnicast(address)) return address
  throw new Error(
    "Tests of proxies need an address of this machine other than loopback's: bring up a network interface",
  )
}
