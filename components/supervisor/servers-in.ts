import type { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { joinHostPort } from "../../pkg/apimachinery/addresses/cidr.ts"

/** Returns the API servers that an EndpointSlice of the Service `kubernetes` names, as `host:port`. */
export function serversIn({ endpoints, ports }: EndpointSlice): readonly string[] {
  const port = ports?.[0]?.port ?? 6443
  return (endpoints ?? []).flatMap(({ addresses }) => addresses).map((address) => joinHostPort(address, port))
}
