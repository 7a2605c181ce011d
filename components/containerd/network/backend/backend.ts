import type { Family } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import type { Neighbor } from "../../../../pkg/netlink/neighbors.ts"
import type { Route } from "../../../../pkg/netlink/routes.ts"
import type { NetlinkFile } from "../../../../pkg/netlink/socket.ts"

/** What a node tells the others about itself, in annotations of its Node. */
export interface Announcement {
  /** Flannel's name of the backend, the same on all nodes. */
  readonly type: string
  /** The addresses by which other nodes reach it, at most one of each family, the primary one first. */
  readonly addresses: readonly string[]
  /** What the backend says besides, such as a key. */
  readonly data: Readonly<Record<string, unknown>>
}

/** Another node whose pods are to be reached. */
export interface Peer extends Announcement {
  readonly name: string
  /** The ranges of its pods, one for each family. */
  readonly podCidrs: readonly string[]
  /** All addresses from which its packets may come. */
  readonly sources: readonly string[]
}

/** This node. */
export interface Self {
  readonly podCidrs: readonly string[]
  /** The address from which packets to other nodes are sent, which an interface of this machine has. */
  readonly local: string
  /** The index and MTU of that interface. */
  readonly uplink: { readonly index: number; readonly mtu: number }
}

/** What the kernel is told about one peer, or about all of them. */
export interface Ways {
  readonly routes: readonly Route[]
  readonly neighbors: readonly Neighbor[]
  readonly forwarding: readonly Neighbor[]
}

export interface Backend {
  /** Flannel's name of it. */
  readonly type: string
  /** The name of its interface; undefined where it has none. */
  readonly device: string | undefined
  /** The UDP port at which packets of no others than the other nodes are taken; undefined where the kernel knows them. */
  readonly guardedPort?: number
  /** By how many bytes packets grow on their way between addresses of a family. */
  overhead(family: Family): number
  /** Returns what others must know to reach this node besides its addresses. */
  announces(podCidrs: readonly string[]): Readonly<Record<string, unknown>>
  /** Makes the interface, or changes it where it differs. Returns its index, or that of the uplink. */
  ensure(socket: NetlinkFile, self: Self): Promise<number>
  /** Returns what leads to a peer by the interface. @throws Error that says why nothing does */
  waysTo(peer: Peer, self: Self, index: number): Ways
  /**
   * Tells the kernel how to reach peers where ways are not all of it; called before the ways are made. Returns what is
   * wrong with some of them.
   */
  connect?(peers: readonly Peer[], self: Self, index: number): Promise<readonly string[]>
  /** Called at the end of the work; what the kernel has stays. */
  close?(): void
}
