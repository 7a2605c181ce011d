import type { Family } from "../../../../pkg/apimachinery/addresses/cidr.ts"
import type { Neighbor } from "../../../../pkg/netlink/neighbors.ts"
import type { Route } from "../../../../pkg/netlink/routes.ts"
import type { NetlinkFile } from "../../../../pkg/netlink/socket.ts"

/** What a node tells the other nodes, in annotations of its Node. */
export interface Announcement {
  /** Flannel's name of the backend, the same on all nodes. */
  readonly type: string
  /** The addresses by which other nodes reach it, at most one of each family, the primary one first. */
  readonly addresses: readonly string[]
  /** Further data of the backend, such as a public key. */
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

/** The routes, neighbours and other entries that the kernel needs for one peer or for all. */
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
  /**
   * The UDP port that must accept packets from other nodes only; undefined if the kernel itself authenticates the
   * sender.
   */
  readonly guardedPort?: number
  /** How many bytes the backend adds to each packet between addresses of a family. */
  overhead(family: Family): number
  /** Returns what other nodes must know to reach this one, besides its addresses. */
  announces(podCidrs: readonly string[]): Readonly<Record<string, unknown>>
  /**
   * Creates the interface, or changes it where it differs. Returns its index; that of the uplink if the backend has no
   * interface.
   */
  ensure(socket: NetlinkFile, self: Self): Promise<number>
  /**
   * Returns the entries by which packets for a peer go through the interface. @throws Error that says why the peer
   * cannot be reached
   */
  waysTo(peer: Peer, self: Self, index: number): Ways
  /**
   * Configures peers in the kernel where a backend needs more than entries, such as WireGuard's peers. Called before
   * the entries are added. Returns the problems of single peers.
   */
  connect?(peers: readonly Peer[], self: Self, index: number): Promise<readonly string[]>
  /** Called when the node stops. The configuration in the kernel stays. */
  close?(): void
}
