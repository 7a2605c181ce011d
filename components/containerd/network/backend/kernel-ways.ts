import { FAMILIES } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import {
  listNeighbors,
  neighborIn,
  removeForwarding,
  removeNeighbor,
  setForwarding,
  setNeighbor,
  type Neighbor,
} from "../../../../pkg/netlink/neighbors.ts"
import { listRoutes, removeRoute, routeIn, setRoute, type Route } from "../../../../pkg/netlink/routes.ts"
import { list, type NetlinkFile } from "../../../../pkg/netlink/socket.ts"
import type { Ways } from "./backend.ts"
import { pushAll } from "../../../../pkg/lists/push-all.ts"

/**
 * The protocol number that marks routes of k3ts in the kernel (`proto 107` in `ip route`). Other programs use other
 * numbers.
 */
export const ROUTE_PROTOCOL = 107

export const NO_WAYS: Ways = { routes: [], neighbors: [], forwarding: [] }

/** One entry in the kernel: its key, its full content as text, and the messages that add and remove it. */
interface Entry {
  readonly key: string
  readonly value: string
  readonly set: Buffer
  readonly remove: Buffer
}

/**
 * Returns the entries of ways in the order in which they are added. A route comes last, so that no packet uses it
 * before its neighbour is known.
 */
const entriesOf = ({ forwarding, neighbors, routes }: Ways): readonly Entry[] => [
  ...forwarding.map((one) => entry("forwarding", one.mac, one, setForwarding, removeForwarding)),
  ...neighbors.map((one) => entry("neighbor", one.address, one, setNeighbor, removeNeighbor)),
  ...routes.map((one) =>
    entry(
      "route",
      one.destination,
      one,
      (route) => setRoute(route, ROUTE_PROTOCOL),
      (route) => removeRoute(route, ROUTE_PROTOCOL),
    ),
  ),
]

function entry<T extends Neighbor | Route>(
  kind: string,
  about: string,
  one: T,
  set: (one: T) => Buffer,
  remove: (one: T) => Buffer,
): Entry {
  const value = Object.entries(one)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .join()
  return { key: `${kind} ${about}`, value, set: set(one), remove: remove(one) }
}

/**
 * Returns the entries that the kernel has now: all routes of k3ts, and the neighbours of the interface if k3ts has made
 * it.
 */
export async function waysIn(socket: NetlinkFile, device: number | undefined): Promise<Ways> {
  const routes: Route[] = []
  const neighbors: Neighbor[] = []
  for (const family of FAMILIES) {
    for (const reply of await list(socket, listRoutes(family))) {
      const route = routeIn(reply, ROUTE_PROTOCOL)
      if (route !== undefined) routes.push(route)
    }
    if (device !== undefined) pushAll(neighbors, await neighborsOf(socket, device, family))
  }
  return { routes, neighbors, forwarding: device === undefined ? [] : await neighborsOf(socket, device, "forwarding") }
}

const neighborsOf = async (socket: NetlinkFile, device: number, of: Parameters<typeof listNeighbors>[0]) =>
  (await list(socket, listNeighbors(of))).map(neighborIn).filter((one) => one?.index === device) as readonly Neighbor[]

export interface Change {
  readonly what: string
  readonly message: Buffer
}

/**
 * Returns the messages that turn one state of the kernel into another: first the removals, in reverse order, then the
 * additions. If two entries have the same key, the last one counts.
 */
export function changesBetween(found: Ways, wanted: Ways): readonly Change[] {
  const [before, after] = [entriesOf(found), entriesOf(wanted)]
  const kept = new Map(after.map((one) => [one.key, one]))
  const there = new Map(before.map((one) => [one.key, one]))
  return [
    ...before
      .filter(({ key }) => !kept.has(key))
      .map(({ key, remove }) => ({ what: key, message: remove }))
      .toReversed(),
    ...[...kept.values()]
      .filter(({ key, value }) => there.get(key)?.value !== value)
      .map(({ key, set }) => ({ what: key, message: set })),
  ]
}
