/** The Lease that each API server renews when several share a store. Source of namespace and label: KEP-1965. */
import { addressText, parseAddress } from "../../../apimachinery/addresses/cidr.ts"
import type { Lease } from "./lease.ts"

export const SERVER_LEASE_NAMESPACE = "kube-system"
export const SERVER_LEASE_LABELS = { "apiserver.kubernetes.io/identity": "kube-apiserver" }
/** The annotation with the names and addresses of the server's certificate, which no node may have. */
const SERVING_NAMES = "k3ts.io/serving-names"

/** Returns the annotations of a server's Lease. The server's certificate is valid for these names and addresses. */
export const servingAnnotations = (names: readonly string[]): Record<string, string> => ({
  [SERVING_NAMES]: names.join(","),
})

/** Returns the names and addresses of the server's certificate in a Lease. */
export const servingNamesOf = ({ metadata }: Lease): readonly string[] =>
  (metadata.annotations?.[SERVING_NAMES] ?? "").split(",").filter((name) => name !== "")

/** Returns the names, in lower case, and addresses in a certificate's `subjectAltName`, as node:crypto writes it. */
export const namesIn = (subjectAltName: string): readonly string[] =>
  subjectAltName.split(", ").flatMap((entry) => {
    const [, kind, value = ""] = /^(DNS|IP Address):(.*)$/.exec(entry) ?? []
    if (kind === "DNS") return [value.toLowerCase()]
    const address = kind === undefined ? undefined : parseAddress(value)
    return address === undefined ? [] : [addressText(address)]
  })
