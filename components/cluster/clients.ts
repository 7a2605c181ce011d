import { ownObjects } from "../kubelet/objects/own-objects.ts"
import type { Client, Transport } from "../../pkg/client/client.ts"
import type { Informers } from "../../pkg/client/informer.ts"
import { createInformers, type InformersOptions } from "../../pkg/client/informers.ts"
import { newClient } from "../../pkg/client/new-client.ts"
import type { ComponentContext } from "../../pkg/component/component.ts"

/** Time, chance, the log and background work: what the whole program shares. */
export type Tools = Omit<ComponentContext, "client" | "informers">

/** Who a component is to the API. `system:authenticated` is added to its groups. */
export interface Identity {
  readonly name: string
  readonly groups?: readonly string[]
}

/** Gives the way into the API as one user. */
export type TransportFor = (user: { readonly name: string; readonly groups: readonly string[] }) => Transport

/** Which objects of some kinds an informer follows, by field selector. */
export type Following = Pick<InformersOptions, "fieldSelectors">

/** The clients of components in this process: each acts as its own user, past the wire but not past authorization. */
export class Clients {
  readonly #tools: Tools
  readonly #transportFor: TransportFor
  readonly #live = new Set<Informers>()

  constructor(tools: Tools, transportFor: TransportFor) {
    this.#tools = tools
    this.#transportFor = transportFor
  }

  transportFor(identity: Identity): Transport {
    return this.#transportFor(asUser(identity))
  }

  clientFor(user: Identity): Client {
    return newClient(this.transportFor(user))
  }

  /** What a component is given, with informers of its own; give it to `release` once the component has stopped. */
  contextFor(user: Identity, following: Following = {}): ComponentContext {
    return this.contextOf(this.clientFor(user), following)
  }

  /** The same for a component that acts through `client`. */
  contextOf(client: Client, following: Following = {}): ComponentContext {
    const { clock, random, log } = this.#tools
    const informers = createInformers({ client, clock, random, log, ...following })
    this.#live.add(informers)
    return { ...this.#tools, client, informers }
  }

  /** Stops the informers of a context. */
  release({ informers }: Pick<ComponentContext, "informers">): void {
    this.#live.delete(informers)
    informers.stop()
  }

  /** Kinds, by their plural, whose first list an informer still waits for. */
  pendingInformers(): readonly string[] {
    return [...this.#live].flatMap((informers) => informers.pending())
  }
}

/** An identity as the API server sees it. */
export const asUser = ({ name, groups = [] }: Identity) => ({ name, groups: [...groups, "system:authenticated"] })

/** A service account of kube-system. */
export const systemAccount = (name: string): Identity => ({
  name: `system:serviceaccount:kube-system:${name}`,
  groups: ["system:serviceaccounts", "system:serviceaccounts:kube-system"],
})

/** The user that a node's kubelet acts as. */
export const nodeUser = (nodeName: string): Identity => ({
  name: `system:node:${nodeName}`,
  groups: ["system:nodes"],
})

/** What the informers of a node's kubelet follow: a node may see only what is its own. */
export const followingNode = (nodeName: string): Following => ({ fieldSelectors: ownObjects(nodeName) })
