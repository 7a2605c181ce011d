import { ownObjects } from "../kubelet/objects/own-objects.ts"
import type { Actor } from "../apiserver/call/request.ts"
import { ApiError } from "../../pkg/apimachinery/errors.ts"
import type { Client, Transport } from "../../pkg/client/client.ts"
import type { Informers } from "../../pkg/client/informer.ts"
import { createInformers, type InformersOptions } from "../../pkg/client/informers.ts"
import { newClient } from "../../pkg/client/new-client.ts"
import type { ComponentContext } from "../../pkg/component/component.ts"
import { unlessAborted } from "../../pkg/flow/unless-aborted.ts"
import { pushAll } from "../../pkg/lists/push-all.ts"

/** What all parts of the program share: time, randomness, the log and background work. */
export type Tools = Omit<ComponentContext, "client" | "informers">

/** The user that a component is for the API. `system:authenticated` is added to its groups. */
export interface Identity {
  readonly name: string
  readonly groups?: readonly string[]
  /** The name of the program that upstream has for it, under which managedFields show it; from its name unless given. */
  readonly agent?: string
}

/** Returns a transport to the API that acts as one user. */
export type TransportFor = (user: Actor) => Transport

/** The field selectors by which an informer restricts some kinds. */
export type Following = Pick<InformersOptions, "fieldSelectors">

/**
 * Makes the clients of components in this process. Each acts as its own user: requests are not serialized, but
 * authorized.
 */
export class Clients {
  readonly #tools: Tools
  readonly #transportFor: TransportFor
  /** The running informers, each with a function that makes it ask a server again at once. */
  readonly #live: Map<Informers, () => void>

  constructor(tools: Tools, transportFor: TransportFor, live = new Map<Informers, () => void>()) {
    this.#tools = tools
    this.#transportFor = transportFor
    this.#live = live
  }

  /** Returns clients of the same users whose requests fail once `signal` has aborted. */
  until(signal: AbortSignal): Clients {
    return new Clients(this.#tools, (user) => transportUntil(this.#transportFor(user), signal), this.#live)
  }

  transportFor(identity: Identity): Transport {
    return this.#transportFor(asUser(identity))
  }

  clientFor(user: Identity): Client {
    return newClient(this.transportFor(user))
  }

  /**
   * Returns the context of a component, with its own informers. Pass it to `release` after the component has stopped.
   */
  contextFor(user: Identity, following: Following = {}): ComponentContext {
    return this.contextOf(this.clientFor(user), following)
  }

  /** Returns the context of a component that acts through `client`. */
  contextOf(client: Client, following: Following = {}): ComponentContext {
    const { clock, random, log } = this.#tools
    const informers = createInformers({ client, clock, random, log, ...following })
    this.#live.set(informers, () => informers.retryNow())
    return { ...this.#tools, client, informers }
  }

  /** Stops the informers of a context. */
  release({ informers }: Pick<ComponentContext, "informers">): void {
    this.#live.delete(informers)
    informers.stop()
  }

  /** Makes all informers that wait for a server ask again at once. */
  retryNow(): void {
    for (const retryNow of this.#live.values()) retryNow()
  }

  /** Returns the kinds, by plural, whose first list an informer still waits for. */
  pendingInformers(): readonly string[] {
    const pending: string[] = []
    for (const informers of this.#live.keys()) pushAll(pending, informers.pending())
    return pending
  }
}

const transportUntil = (transport: Transport, until: AbortSignal): Transport => {
  const refusal = () => new ApiError("ServiceUnavailable", "this part has been stopped, so it sends no more requests")
  return {
    async call(call, signal) {
      if (until.aborted) throw refusal()
      try {
        // A request that is under way may never be answered: its server may have crashed.
        return await unlessAborted(transport.call(call, signal), until)
      } catch (err) {
        throw until.aborted ? refusal() : err
      }
    },
    watch(resource, options, handlers) {
      if (!until.aborted) return transport.watch(resource, options, handlers)
      handlers.onEnd(refusal())
      return { close: () => undefined }
    },
  }
}

/** Returns an identity as the API server sees it. */
export const asUser = ({ name, groups = [], agent }: Identity): Actor => ({
  name,
  groups: [...groups, "system:authenticated"],
  ...(agent === undefined ? {} : { agent }),
})

/** Returns a service account of kube-system. */
export const systemAccount = (name: string): Identity => ({
  name: `system:serviceaccount:kube-system:${name}`,
  groups: ["system:serviceaccounts", "system:serviceaccounts:kube-system"],
})

/** Returns the user of a node's kubelet. */
export const nodeUser = (nodeName: string): Identity => ({
  name: `system:node:${nodeName}`,
  groups: ["system:nodes"],
  agent: "kubelet",
})

/** The field selectors of a kubelet's informers, since a node may only see its own objects. */
export const followingNode = (nodeName: string): Following => ({ fieldSelectors: ownObjects(nodeName) })
