import { Lease } from "../../pkg/api/coordination/v1/lease.ts"
import type { Resource } from "../../pkg/apimachinery/resource.ts"
import { sleep } from "../../pkg/clock/clock.ts"
import type { Component, ComponentContext } from "../../pkg/component/component.ts"
import { runLeaderElected } from "../../pkg/controller/leader-election.ts"
import type { Clients, Identity, Tools } from "./clients.ts"
import type { Part, RunningPart } from "./part.ts"

/**
 * Times of the elections, in milliseconds. A candidate watches the Lease and tries as soon as it expires, so another
 * server takes over within ten seconds after the leader was killed. Differs from upstream: 8, 5 and 2 seconds instead
 * of 15, 10 and 2, with which a takeover takes up to 24 seconds.
 */
const LEASE_DURATION_MS = 8_000
const RENEW_DEADLINE_MS = 5_000
const RETRY_PERIOD_MS = 2_000
/** The first and the longest delay after a term that ended with an error, in milliseconds. */
const FIRST_RETRY_MS = 2_000
const LAST_RETRY_MS = 60_000
/** How long a stop waits for the release of the Lease, in milliseconds: the store may be away. */
const RELEASE_MS = 1_000

export interface ElectedOptions<C extends Component> {
  /** The name of the component. */
  readonly name: string
  /** The name of the Lease in kube-system. */
  readonly lease: string
  /** The name of this candidate; each candidate needs its own. */
  readonly identity: string
  readonly clients: Clients
  /** The user that reads and writes the Lease. */
  readonly user: Identity
  readonly tools: Pick<Tools, "clock" | "spawn">
  /** Makes the part for one term. Requests of its clients fail when the term is over. */
  readonly part: (clients: Clients) => Part<C>
}

/**
 * A part that runs in one of several servers at a time: in the server that holds the Lease. When the Lease is lost, the
 * part is stopped and the server becomes a candidate again. When the part cannot start, its server gives the Lease to
 * another candidate and waits before it stands for election again. Source: client-go tools/leaderelection; a component
 * of its own would end its process instead.
 */
export class ElectedPart<C extends Component = Component> implements RunningPart<C> {
  readonly name: string
  readonly #options: ElectedOptions<C>
  #part: Part<C> | undefined
  #ending: AbortController | undefined
  #ended: Promise<void> = Promise.resolve()
  #context: ComponentContext | undefined
  /** How long this server waits when its next term ends with an error, in milliseconds. */
  #retryMs = FIRST_RETRY_MS

  constructor(options: ElectedOptions<C>) {
    this.name = options.name
    this.#options = options
  }

  /** The component while this server leads; undefined otherwise. */
  get component(): C | undefined {
    return this.#part?.component
  }

  /** Becomes a candidate. Does not wait for the election. */
  async start(): Promise<void> {
    const ending = new AbortController()
    this.#ending = ending
    const stand = () => {
      const standing = this.#stand(ending.signal)
      this.#ended = standing.catch(() => undefined)
      return standing
    }
    this.#options.tools.spawn(`election of ${this.name}`, stand, ending.signal)
  }

  async stop(): Promise<void> {
    const { clients, tools } = this.#options
    this.#ending?.abort(new Error(`${this.name} is being stopped`))
    const over = new AbortController()
    const late = sleep(tools.clock, RELEASE_MS, over.signal).catch(() => undefined)
    await Promise.race([this.#ended, late])
    over.abort()
    await this.#part?.stop()
    if (this.#context !== undefined) clients.release(this.#context)
  }

  problem(): string | undefined {
    return this.#part?.problem()
  }

  /** Stands for election until `signal` aborts, term after term. */
  async #stand(signal: AbortSignal): Promise<void> {
    const { clients, user, lease: name, identity } = this.#options
    const fieldSelectors = new Map<Resource, string>([[Lease as unknown as Resource, `metadata.name=${name}`]])
    const context = clients.contextFor(user, { fieldSelectors })
    this.#context = context
    const election = {
      name,
      namespace: "kube-system",
      identity,
      leaseDurationMs: LEASE_DURATION_MS,
      renewDeadlineMs: RENEW_DEADLINE_MS,
      retryPeriodMs: RETRY_PERIOD_MS,
    }
    const watchLease = (seen: (lease: Lease | undefined) => void) =>
      context.informers.of(Lease).on({ added: seen, updated: seen, deleted: () => seen(undefined) })
    while (!signal.aborted)
      try {
        await runLeaderElected(election, { ...context, watchLease }, signal, (leading) => this.#lead(leading))
      } catch (err) {
        context.log.error("Failed to lead; will try to become the leader again", {
          lease: name,
          err,
          inMs: this.#retryMs,
        })
        await sleep(context.clock, this.#retryMs, signal).catch(() => undefined)
        this.#retryMs = Math.min(LAST_RETRY_MS, this.#retryMs * 2)
      }
  }

  /** Runs the part until `leading` aborts. */
  async #lead(leading: AbortSignal): Promise<void> {
    const { clients, part: create } = this.#options
    const over = new Promise<void>((resolve) => {
      if (leading.aborted) resolve()
      else leading.addEventListener("abort", () => resolve(), { once: true })
    })
    const part = create(clients.until(leading))
    this.#part = part
    try {
      // A start may wait for something that never comes: the API server may be away.
      await Promise.race([part.start(leading).then(() => (this.#retryMs = FIRST_RETRY_MS)), over])
      await over
    } finally {
      this.#part = undefined
      await part.stop()
    }
  }
}
