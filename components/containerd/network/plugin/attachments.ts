import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { PodSource } from "../sources/source-table.ts"
import type { AddressOwner } from "./pod-addresses.ts"

/**
 * The folder in which libcni records the result of each attachment, with every configuration. Source: libcni/api.go
 * CacheDir.
 */
export const CNI_RESULTS = "/var/lib/cni/results"

/** A pod's interface whose port exists on this host. */
export interface Attachment extends PodSource {
  readonly owner: AddressOwner
}

/** Whether an interface of this host is the port of a bridge. */
export const isPort = (name: string): boolean => existsSync(`/sys/class/net/${name}/brport`)

/** Returns the recorded attachments to a network whose ports exist, whichever plugin made them. */
export function attachmentsOf(
  network: string,
  isPort: (name: string) => boolean,
  folder = CNI_RESULTS,
): readonly Attachment[] {
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.startsWith(`${network}-`)) : []
  return names.flatMap((name) => {
    const found = attachmentIn(readOr(join(folder, name)), network)
    return found !== undefined && isPort(found.port) ? [found] : []
  })
}

interface Recorded {
  readonly containerId?: string
  readonly ifName?: string
  readonly networkName?: string
  readonly result?: unknown
}

function attachmentIn(text: string, network: string): Attachment | undefined {
  let record: Recorded
  try {
    record = JSON.parse(text) as Recorded
  } catch {
    return undefined // the file is being written or removed
  }
  const { containerId, ifName, networkName, result } = record
  if (containerId === undefined || ifName === undefined || networkName !== network) return undefined
  const source = sourceIn(result, ifName)
  return source === undefined ? undefined : { owner: { containerId, interface: ifName }, ...source }
}

/**
 * Returns the port and the addresses of an attachment from the result of its plugins; undefined if the result lacks
 * them.
 */
export function sourceIn(result: unknown, interfaceName: string): PodSource | undefined {
  const { interfaces = [], ips = [] } = (result ?? {}) as {
    readonly interfaces?: readonly { readonly name?: string; readonly mac?: string; readonly sandbox?: string }[]
    readonly ips?: readonly { readonly address?: string }[]
  }
  const inside = interfaces.find(({ name, sandbox }) => name === interfaceName && sandbox)
  // The bridge comes first and the pod's own interface last.
  const port = interfaces.filter(({ sandbox }) => !sandbox).at(-1)?.name
  if (inside?.mac === undefined || port === undefined) return undefined
  const addresses = ips.flatMap(({ address }) => (address === undefined ? [] : [address.split("/")[0]!]))
  return { port, mac: inside.mac, addresses }
}

function readOr(path: string): string {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return ""
  }
}
