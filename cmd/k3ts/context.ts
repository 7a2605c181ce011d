import type { ApiServer } from "../../components/apiserver/apiserver.ts"
import type { Client } from "../../pkg/client/client.ts"
import type { Informers } from "../../pkg/client/informer.ts"
import { createInformers, type InformersOptions } from "../../pkg/client/informers.ts"
import { newClient } from "../../pkg/client/new-client.ts"
import type { Clock } from "../../pkg/clock/clock.ts"
import { systemRandom, type Random } from "../../pkg/clock/random.ts"
import { realClock } from "../../pkg/clock/real.ts"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import type { Logger } from "../../pkg/log/log.ts"

/** What everything in the program shares. */
export interface Context {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Runs background work. Its failure ends the program. */
  readonly spawn: ComponentContext["spawn"]
  /** Rejects with the first failure of background work. */
  readonly failed: Promise<never>
}

export function createContext(log: Logger): Context {
  const { promise: failed, reject } = Promise.withResolvers<never>()
  failed.catch(() => undefined) // whoever runs the components sees it
  return {
    clock: realClock,
    random: systemRandom,
    log,
    failed,
    spawn(name, run) {
      run().catch((err: unknown) => {
        log.error("Background work failed", { work: name, err, stack: err instanceof Error ? err.stack : undefined })
        reject(new Error(`${name} failed: ${err instanceof Error ? err.message : String(err)}`, { cause: err }))
      })
    },
  }
}

export interface Identity {
  readonly name: string
  readonly groups?: readonly string[]
}

/** The clients of components in this process: each acts as its own user, past the wire but not past authorization. */
export interface Clients {
  clientFor(user: Identity): Client
  /** Acts as a service account of kube-system. */
  accountClient(account: string): Client
  /** What a component is given, and the component that stops its informers: list it before the one that uses them. */
  contextFor(user: Identity, options?: Pick<InformersOptions, "fieldSelectors">): ComponentContext
  /** Kinds whose first list an informer still waits for. */
  pendingInformers(): readonly string[]
  stop(): void
}

export function createClients(
  { clock, random, log, spawn }: Context,
  apiServer: Pick<ApiServer, "transportFor">,
): Clients {
  const all: Informers[] = []
  const clientFor = ({ name, groups = [] }: Identity): Client =>
    newClient(apiServer.transportFor({ name, groups: [...groups, "system:authenticated"] }))
  return {
    clientFor,
    accountClient: (account) => clientFor(serviceAccount(account)),
    contextFor(user, options = {}) {
      const client = clientFor(user)
      const informers = createInformers({ client, clock, random, log, ...options })
      all.push(informers)
      return { client, informers, clock, random, log, spawn }
    },
    pendingInformers: () => all.flatMap((informers) => informers.pending()),
    stop() {
      for (const informers of all) informers.stop()
    },
  }
}

const serviceAccount = (name: string): Identity => ({
  name: `system:serviceaccount:kube-system:${name}`,
  groups: ["system:serviceaccounts", "system:serviceaccounts:kube-system"],
})

/** Stops the informers when all who use them have stopped. */
export const informersOf = (clients: Clients): Component => ({
  name: "informers",
  start: () => Promise.resolve(),
  stop: async () => clients.stop(),
})
