import type { Family } from "../../../../apimachinery/addresses/cidr.ts"

/** Annotations by which nodes tell each other how to reach their pods. Source: flannel pkg/subnet/kube/annotations.go. */
export const FLANNEL = "flannel.alpha.coreos.com"
/** What the backend of a node says besides its addresses, as JSON. */
export const BACKEND_DATA: Readonly<Record<Family, string>> = {
  IPv4: `${FLANNEL}/backend-data`,
  IPv6: `${FLANNEL}/backend-v6-data`,
}
/** The most characters of such data that are read: a node has written them. */
const MOST_DATA = 4096

/** Returns what is in an annotation with a backend's data; nothing where that is none. */
export function backendDataIn(text: string | undefined): Readonly<Record<string, unknown>> {
  if (text === undefined || text.length > MOST_DATA) return {}
  try {
    const data: unknown = JSON.parse(text)
    return typeof data === "object" && data !== null ? (data as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
