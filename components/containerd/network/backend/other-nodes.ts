import { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import { deepEqual } from "../../../../pkg/apimachinery/json/equal.ts"
import { isNotFound } from "../../../../pkg/apimachinery/errors.ts"
import type { Client } from "../../../../pkg/client/client.ts"
import type { Component, ComponentContext } from "../../../../pkg/component/component.ts"
import { SyncRunner } from "../../../../pkg/component/sync-runner.ts"
import { annotationsOf, isAnnounced, peerOf, rangesOf } from "./announcement.ts"
import type { Backend, Peer } from "./backend.ts"
import { nodeAddresses, type NodeAddressesOptions } from "./node-addresses.ts"
import { NodeRoutes, type Wanted } from "./node-routes.ts"

export interface OtherNodesConfig {
  readonly nodeName: string
  readonly backend: Backend
  /** A client that acts as this node, the only user that may write to its Node. */
  readonly node: Client
  readonly addressing?: NodeAddressesOptions
  /** See `NodeRoutesOptions`. */
  readonly measured?: (mtu: number) => void
  /** The network namespace instead of the process's own. */
  readonly netns?: string
}

/** Milliseconds until a failed announcement is tried again. */
const RETRY_MS = 2000

/**
 * Announces to the other nodes how to reach this one, and keeps routes to the pods of the other nodes. Both follow all
 * changes of Nodes, their pod ranges and their announcements.
 */
export function createOtherNodes(context: ComponentContext, config: OtherNodesConfig): Component {
  const { informers, clock } = context
  const { nodeName, backend, addressing = {}, measured, netns } = config
  const log = context.log.child({ component: "pod-network" })
  const nodes = informers.of(Node)
  const peers = new Map<string, Peer>()
  let unsubscribe = (): void => undefined

  const wanted = (): Wanted | undefined => {
    const self = nodes.get(nodeName)
    const podCidrs = rangesOf(self?.spec.podCIDRs ?? [])
    const local = self === undefined ? undefined : nodeAddresses(self, addressing).local
    return podCidrs.length === 0 || local === undefined ? undefined : { podCidrs, local, peers: [...peers.values()] }
  }
  const routes = new NodeRoutes({ backend, clock, log, wanted, measured, netns })
  const announcing = new SyncRunner({
    clock,
    async sync() {
      const self = nodes.get(nodeName)
      if (self === undefined || wanted() === undefined) return
      const annotations = annotationsOf({
        type: backend.type,
        addresses: nodeAddresses(self, addressing).announced,
        data: backend.announces(rangesOf(self.spec.podCIDRs ?? [])),
      })
      if (isAnnounced(self, annotations)) return
      await config.node
        .patch(Node, { name: nodeName }, { type: "merge", body: { metadata: { annotations } } })
        .catch((err: unknown) => {
          if (!isNotFound(err)) throw err // the kubelet registers the Node again
        })
    },
    failed(err) {
      log.warn("Failed to announce to other nodes how to reach this one; will retry", { err })
      return RETRY_MS
    },
  })

  function see(node: Node): void {
    const name = node.metadata.name!
    if (name === nodeName) {
      announcing.request()
      return routes.changed()
    }
    const peer = peerOf(node)
    if (deepEqual(peer, peers.get(name))) return
    if (peer === undefined) peers.delete(name)
    else peers.set(name, peer)
    routes.changed()
  }

  return {
    name: "other-nodes",
    problem: () => routes.problem ?? announcing.problem,
    async start() {
      unsubscribe = nodes.on({
        added: see,
        updated: see,
        deleted({ metadata }) {
          if (peers.delete(metadata.name!)) routes.changed()
        },
      })
      await Promise.all([routes.start(), announcing.start()])
    },
    /** The routes to other nodes stay, since pods keep running. */
    async stop() {
      unsubscribe()
      await Promise.all([routes.stop(), announcing.stop()])
    },
  }
}
