import { familyOf } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import type { Backend } from "./backend.ts"

/**
 * Routes whose gateways are the other nodes, which must be on the same link. Packets stay as they are. Source: flannel
 * pkg/backend/hostgw/hostgw.go.
 */
export const hostGateway: Backend = {
  type: "host-gw",
  device: undefined,
  overhead: () => 0,
  announces: () => ({}),
  ensure: (_socket, { uplink }) => Promise.resolve(uplink.index),
  waysTo({ podCidrs, addresses }, _self, index) {
    const routes = podCidrs.map((destination) => {
      const gateway = addresses.find((address) => familyOf(address) === familyOf(destination))
      if (gateway === undefined)
        throw new Error(`it announces no address of ${familyOf(destination)} for ${destination}`)
      return { destination, gateway, index }
    })
    return { routes, neighbors: [], forwarding: [] }
  },
}
