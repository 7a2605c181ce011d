import type { Clock } from "../../../pkg/clock/clock.ts"
import { inSteps } from "../../../pkg/clock/in-steps.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import type { Registry } from "../../../pkg/metrics/registry.ts"
import type { Host } from "../../../pkg/netfilter/host.ts"
import { accepts, FAMILY_WORD, tableNames, transact } from "../../../pkg/netfilter/nft.ts"
import { nftablesMetrics } from "../metrics.ts"
import type { RuleInput, RuleWriter } from "../rule-writer.ts"
import { Desired } from "./desired.ts"
import { TABLE, tableOf } from "./names.ts"
import type { ServicePort } from "../service-ports.ts"
import { makingParts, type Parts } from "./parts.ts"
import { skeletonOf, type Skeleton, type SkeletonConfig } from "./skeleton.ts"
import { deletionOf, existingIn, makingFull, makingPartial, staleChainsOf, type Existing } from "./transaction.ts"

export interface NftablesWriterConfig extends Omit<SkeletonConfig, "serviceCidrs"> {
  readonly host: Host
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Registry
}

/**
 * Kernels before 6.2 notice with a delay that a deleted map entry no longer refers to a chain, and refuse to remove the
 * chain until then. Source: syncProxyRules in pkg/proxy/nftables/proxier.go.
 */
const STALE_MS = 1000

const NO_PARTS: Parts = { elements: [], chains: new Map(), affinities: new Map() }

/** Writes the Services of one family as entries of nftables maps: only differences, in one transaction. */
export class NftablesWriter implements RuleWriter {
  readonly mode = "nftables"
  readonly #config: NftablesWriterConfig
  readonly #metrics: ReturnType<typeof nftablesMetrics>
  readonly #desired = new Desired()
  /** What `trying` has made for the next call of `write`. */
  readonly #tried = new WeakMap<readonly ServicePort[], Parts>()
  /** When the chains that are still to be removed were emptied, by name. */
  readonly #stale = new Map<string, number>()
  /**
   * The part that does not depend on Services as it was last written; undefined when the content of the table is
   * unknown.
   */
  #skeleton: Skeleton | undefined
  #serviceCidrs = ""

  constructor(config: NftablesWriterConfig) {
    this.#config = config
    this.#metrics = nftablesMetrics(config.metrics, config.family)
  }

  get isFull(): boolean {
    return this.#skeleton === undefined
  }

  *trying(ports: readonly ServicePort[]): Generator<void> {
    this.#tried.set(ports, yield* makingParts(ports))
  }

  async write({ changes, serviceCidrs }: RuleInput): Promise<boolean> {
    await inSteps(this.#changing(changes), this.#config.clock)
    if (serviceCidrs.join() !== this.#serviceCidrs) this.forget()
    this.#serviceCidrs = serviceCidrs.join()
    try {
      if (this.#skeleton === undefined) {
        await this.#writeAll(skeletonOf({ ...this.#config, serviceCidrs }))
        return true
      }
      await this.#removeStale()
      return await this.#writeChanges()
    } catch (err) {
      this.#metrics.syncFailures.inc()
      this.forget()
      throw err
    }
  }

  *#changing(changes: RuleInput["changes"]): Generator<void> {
    for (const [owner, { before, after }] of changes) {
      const parts = this.#tried.get(after) ?? (yield* makingParts(after))
      this.#tried.delete(after)
      yield* this.#desired.changing(owner, yield* makingParts(before), parts)
    }
  }

  async accepts(
    services: ReadonlyMap<string, readonly ServicePort[]>,
    serviceCidrs: readonly string[],
  ): Promise<boolean> {
    const { host, clock, family } = this.#config
    const desired = new Desired()
    for (const [owner, ports] of services)
      await inSteps(desired.changing(owner, NO_PARTS, await inSteps(makingParts(ports), clock)), clock)
    const skeleton = skeletonOf({ ...this.#config, serviceCidrs })
    return accepts(host, await inSteps(makingFull(family, skeleton, desired, undefined), clock))
  }

  async intact(): Promise<boolean> {
    const { host, family } = this.#config
    return (await tableNames(host, FAMILY_WORD[family])).includes(TABLE)
  }

  forget(): void {
    this.#skeleton = undefined
  }

  async #writeChanges(): Promise<boolean> {
    const { clock, family } = this.#config
    const delta = await inSteps(this.#desired.takingDelta(), clock)
    const text = await inSteps(makingPartial(family, this.#desired, delta), clock)
    if (text === "") return false
    await transact(this.#config.host, text)
    for (const name of delta.chains.keys()) this.#noteStale(name)
    return true
  }

  async #writeAll(skeleton: Skeleton): Promise<void> {
    const { host, log, family, clock } = this.#config
    const existing = await this.#existing()
    await inSteps(this.#desired.takingDelta(), clock)
    this.#stale.clear()
    try {
      await transact(host, await inSteps(makingFull(family, skeleton, this.#desired, existing), clock))
      for (const name of staleChainsOf(skeleton, this.#desired, existing)) this.#noteStale(name)
    } catch (err) {
      if (existing === undefined) throw err
      log.warn("Failed to update the existing table of Service rules; creating it again", {
        table: tableOf(family),
        err,
      })
      await transact(host, await inSteps(makingFull(family, skeleton, this.#desired, undefined), clock))
    }
    this.#skeleton = skeleton
  }

  /** Returns what exists in the table; undefined when there is no table. */
  async #existing(): Promise<Existing | undefined> {
    if (!(await this.intact())) return undefined
    const { host, family } = this.#config
    return existingIn(await host.run("nft", ["-t", "list", "table", FAMILY_WORD[family], TABLE]))
  }

  #noteStale(chain: string): void {
    if (this.#desired.chain(chain) === undefined) this.#stale.set(chain, this.#config.clock.monotonic())
    else this.#stale.delete(chain)
  }

  /**
   * Removes emptied chains. One that cannot be removed yet is tried again at a later change; empty chains do no harm.
   */
  async #removeStale(): Promise<void> {
    const { clock, host, log, family } = this.#config
    const until = clock.monotonic() - STALE_MS
    const old = [...this.#stale].filter(([chain, at]) => at <= until && this.#desired.chain(chain) === undefined)
    if (old.length === 0) return
    try {
      await transact(
        host,
        deletionOf(
          family,
          old.map(([chain]) => chain),
        ),
      )
      for (const [chain] of old) this.#stale.delete(chain)
    } catch (err) {
      this.#metrics.cleanupFailures.inc()
      log.warn("Failed to remove unused chains; will retry", { chains: old.length, err })
      for (const [chain] of old) this.#stale.set(chain, clock.monotonic())
    }
  }
}
