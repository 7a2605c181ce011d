import type { Family } from "../../../../apimachinery/addresses/cidr.ts"

/**
 * The prefix of annotations with which nodes tell each other how to reach their pods. Source: flannel
 * pkg/subnet/kube/annotations.go.
 */
export const FLANNEL = "flannel.alpha.coreos.com"
/** The annotations with further data of a node's network backend, as JSON. */
export const BACKEND_DATA: Readonly<Record<Family, string>> = {
  IPv4: `${FLANNEL}/backend-data`,
  IPv6: `${FLANNEL}/backend-v6-data`,
}
/** Longer data is ignored, because a node could write anything there. In characters. */
const MOST_DATA = 4096

/** Returns the data in an annotation; empty when it is not a JSON object. */
export function backendDataIn(text: string | undefined): Readonly<Record<string, unknown>> {
  if (text === undefined || text.length > MOST_DATA) return {}
  try {
    const data: unknown = JSON.parse(text)
    return typeof data === "object" && data !== null ? (data as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
