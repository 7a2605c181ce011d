/** Messages about routes, for sockets of NETLINK_ROUTE. Source: rtnetlink(7), linux/rtnetlink.h. */
import { addressText, familyOf, parseNetwork, type Family } from "../apimachinery/addresses/cidr.ts"
import { AF, addressBytes, addressOf } from "./links.ts"
import {
  ACK,
  attribute,
  attributesIn,
  CREATE,
  DUMP,
  EXCL,
  message,
  nested,
  REPLACE,
  REQUEST,
  uint32,
} from "./message.ts"
import type { Reply } from "./message.ts"

const [NEWROUTE, DELROUTE, GETROUTE] = [24, 25, 26]
const RTA = { destination: 1, interface: 4, gateway: 5, priority: 6, metrics: 8 } as const
const METRIC_MTU = 2
const [TABLE_MAIN, PROTOCOL_KERNEL, PROTOCOL_BOOT, UNICAST] = [254, 2, 3, 1]
/** The metric of the routes that the kernel adds for IPv6. Source: IP6_RT_PRIO_ADDRCONF in net/ipv6_route.h. */
const KERNEL_PRIORITY = 256
const [SCOPE_GLOBAL, SCOPE_LINK] = [0, 253]
/** Flag: the gateway is on the link, although no address of the interface is in its network. */
const ONLINK = 4
/** The length of `struct rtmsg`: family, two prefix lengths, tos, table, protocol, scope, type, flags. */
const HEADER = 12

/** Adds the default route of the gateway's family. With `mtu`, packets on it are not larger. */
export const addDefaultRoute = (index: number, gateway: string, mtu?: number): Buffer =>
  message(
    NEWROUTE,
    REQUEST | ACK | CREATE | EXCL,
    Buffer.from([AF[familyOf(gateway)], 0, 0, 0, TABLE_MAIN, PROTOCOL_BOOT, SCOPE_GLOBAL, UNICAST, 0, 0, 0, 0]),
    attribute(RTA.gateway, addressBytes(gateway)),
    attribute(RTA.interface, index),
    ...(mtu === undefined ? [] : [nested(RTA.metrics, attribute(METRIC_MTU, uint32(mtu)))]),
  )

export interface Route {
  /** A network such as `10.42.1.0/24`. */
  readonly destination: string
  /** The index of the interface. */
  readonly index: number
  /** Absent when the destination is on the link itself. */
  readonly gateway?: string
  readonly onLink?: boolean
}

/**
 * Adds or replaces the route to a destination. `protocol` identifies the program that made it (`ip route` shows it as
 * `proto`).
 */
export const setRoute = (route: Route, protocol: number): Buffer =>
  message(NEWROUTE, REQUEST | ACK | CREATE | REPLACE, headerOf(route, protocol), ...attributesOf(route))

/**
 * Adds the route to the hosts on an interface as the kernel adds it together with an address. Fails with EEXIST where
 * it is there.
 */
export const addConnectedRoute = (destination: string, index: number): Buffer =>
  message(
    NEWROUTE,
    REQUEST | ACK | CREATE | EXCL,
    headerOf({ destination, index }, PROTOCOL_KERNEL),
    ...attributesOf({ destination, index }),
    ...(familyOf(destination) === "IPv6" ? [attribute(RTA.priority, KERNEL_PRIORITY)] : []),
  )

export const removeRoute = (route: Route, protocol: number): Buffer =>
  message(DELROUTE, REQUEST | ACK, headerOf(route, protocol), ...attributesOf(route))

function headerOf({ destination, gateway, onLink = false }: Route, protocol: number): Buffer {
  const { family, prefix } = parseNetwork(destination)!
  const scope = gateway === undefined && family === "IPv4" ? SCOPE_LINK : SCOPE_GLOBAL
  return Buffer.from([AF[family], prefix, 0, 0, TABLE_MAIN, protocol, scope, UNICAST, onLink ? ONLINK : 0, 0, 0, 0])
}

const attributesOf = ({ destination, index, gateway }: Route): readonly Buffer[] => [
  attribute(RTA.destination, addressBytes(destination.split("/")[0]!)),
  ...(gateway === undefined ? [] : [attribute(RTA.gateway, addressBytes(gateway))]),
  attribute(RTA.interface, index),
]

/** Requests all routes of a family. */
export const listRoutes = (family: Family): Buffer =>
  message(GETROUTE, REQUEST | DUMP, Buffer.alloc(HEADER).fill(AF[family], 0, 1))

/** Returns the route in a reply to `listRoutes`; undefined for one that `protocol` did not make. */
export function routeIn({ body }: Reply, protocol: number): Route | undefined {
  if (body[5] !== protocol || body[4] !== TABLE_MAIN) return undefined
  const attributes = attributesIn(body, HEADER)
  const [destination, gateway] = [attributes.get(RTA.destination), attributes.get(RTA.gateway)]
  const family: Family = body[0] === AF.IPv4 ? "IPv4" : "IPv6"
  const to = destination === undefined ? addressText({ family, number: 0n }) : addressOf(destination)
  return {
    destination: `${to}/${body[1]}`,
    index: attributes.get(RTA.interface)?.readInt32LE(0) ?? 0,
    ...(gateway === undefined ? {} : { gateway: addressOf(gateway) }),
    ...((body[8]! & ONLINK) === 0 ? {} : { onLink: true }),
  }
}
