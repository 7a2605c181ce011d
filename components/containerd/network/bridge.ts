import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { run } from "../../../pkg/process/run.ts"
import { BRIDGE } from "./cni.ts"

/** Tells whose a bridge is that has no address yet. */
const ALIAS = "k3ts"

/**
 * Makes the bridge of the pods, if there is none, so that its address of IPv6 is in use as soon as the CNI plugin gives
 * it one. The kernel would else wait a second for others on the link that have the same address (duplicate address
 * detection, RFC 4862), while the first pods ask in vain for their gateway.
 */
export async function makeBridge(): Promise<void> {
  if (existsSync(`/sys/class/net/${BRIDGE}`)) return
  await run("ip", ["link", "add", BRIDGE, "type", "bridge"])
  await run("ip", ["link", "set", BRIDGE, "alias", ALIAS])
  writeFileSync(`/proc/sys/net/ipv6/conf/${BRIDGE}/accept_dad`, "0")
}

/** Whether `makeBridge` made the bridge that is there. */
export function isMadeHere(): boolean {
  try {
    return readFileSync(`/sys/class/net/${BRIDGE}/ifalias`, "utf8").trim() === ALIAS
  } catch {
    return false
  }
}
