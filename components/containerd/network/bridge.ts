import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { run } from "../../../pkg/process/run.ts"
import { BRIDGE } from "./cni.ts"

/** Marks a bridge that was made here. */
export const ALIAS = "k3ts"

/** Whether the pods' bridge exists, in the network namespace of this process. */
export const hasBridge = (): boolean => existsSync(`/proc/sys/net/ipv4/conf/${BRIDGE}`)

/**
 * Creates the pods' bridge if it does not exist, so that its IPv6 address can be used as soon as the CNI plugin adds
 * it. Otherwise the kernel would check for a second whether another host has the address (duplicate address detection,
 * RFC 4862), while the first pods look for their gateway in vain.
 */
export async function makeBridge(): Promise<void> {
  if (hasBridge()) return
  await run("ip", ["link", "add", BRIDGE, "type", "bridge"])
  await run("ip", ["link", "set", BRIDGE, "alias", ALIAS])
  writeFileSync(`/proc/sys/net/ipv6/conf/${BRIDGE}/accept_dad`, "0")
}

/** Whether `makeBridge` created the existing bridge. */
export function isMadeHere(): boolean {
  try {
    return readFileSync(`/sys/class/net/${BRIDGE}/ifalias`, "utf8").trim() === ALIAS
  } catch {
    return false
  }
}
