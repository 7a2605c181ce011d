import type { Registry } from "../../../pkg/metrics/registry.ts"
import type { Host } from "../../../pkg/netfilter/host.ts"
import { iptablesMetrics } from "../metrics.ts"
import type { RuleInput, RuleWriter } from "../rule-writer.ts"
import type { ServicePort } from "../service-ports.ts"
import { accepts, ensureJumps, intact, restore } from "./iptables.ts"
import { transition, writtenRules } from "./restore.ts"
import { rulesFor, type RulesConfig, type Ruleset } from "./rules.ts"

export interface IptablesWriterConfig extends Omit<RulesConfig, "serviceCidrs"> {
  readonly host: Host
  readonly metrics: Registry
}

/** Writes the Services of one family as iptables rules: computes all of them, and writes the chains that differ. */
export class IptablesWriter implements RuleWriter {
  readonly mode = "iptables"
  readonly #config: IptablesWriterConfig
  readonly #metrics: ReturnType<typeof iptablesMetrics>
  #applied: Ruleset | undefined

  constructor(config: IptablesWriterConfig) {
    this.#config = config
    this.#metrics = iptablesMetrics(config.metrics, config.family)
  }

  get isFull(): boolean {
    return this.#applied === undefined
  }

  *trying(ports: readonly ServicePort[]): Generator<void> {
    rulesFor(ports, { ...this.#config, serviceCidrs: [] })
    yield
  }

  async write({ ports, serviceCidrs }: RuleInput): Promise<boolean> {
    const { host, family } = this.#config
    const { isFull } = this
    const rules = rulesFor(ports(), { ...this.#config, serviceCidrs })
    const text = transition(this.#applied, rules)
    if (text !== undefined) {
      try {
        await restore(host, family, text)
        if (isFull) await ensureJumps(host, family)
      } catch (err) {
        this.#metrics.restoreFailures.inc()
        if (!isFull) this.#metrics.partialRestoreFailures.inc()
        this.forget() // it is unknown what was written
        throw err
      }
      this.#applied = rules
    }
    const last = writtenRules(text ?? "")
    for (const table of ["nat", "filter"] as const) {
      this.#metrics.rules[table].set([...rules[table].values()].reduce((sum, { length }) => sum + length, 0))
      this.#metrics.rulesWritten[table].set(last[table])
    }
    return text !== undefined
  }

  async accepts(
    services: ReadonlyMap<string, readonly ServicePort[]>,
    serviceCidrs: readonly string[],
  ): Promise<boolean> {
    const rules = rulesFor([...services.values()].flat(), { ...this.#config, serviceCidrs })
    const text = transition(undefined, rules)
    return text === undefined || accepts(this.#config.host, this.#config.family, text)
  }

  intact(): Promise<boolean> {
    return intact(this.#config.host, this.#config.family)
  }

  forget(): void {
    this.#applied = undefined
  }
}
