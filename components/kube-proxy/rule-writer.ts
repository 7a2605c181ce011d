import type { ServicePort } from "./service-ports.ts"

/** The ways in which rules are written to the kernel. */
export const PROXY_MODES = ["nftables", "iptables"] as const
export type ProxyMode = (typeof PROXY_MODES)[number]

/** The ports of one Service in a family before and after a change; empty when the Service does not exist. */
export interface ServiceChange {
  readonly before: readonly ServicePort[]
  readonly after: readonly ServicePort[]
}

/** What the rules of a family are made from. */
export interface RuleInput {
  /** Returns the ports of all Services in the family. */
  readonly ports: () => readonly ServicePort[]
  /** The Services that changed since the last call, by `<namespace>/<name>`, whether that call succeeded or not. */
  readonly changes: ReadonlyMap<string, ServiceChange>
  /** The ranges of Services' cluster IPs in the family. */
  readonly serviceCidrs: readonly string[]
}

/** Writes the rules of one family to the kernel. One call at a time. */
export interface RuleWriter {
  readonly mode: ProxyMode
  /** Whether the next call of `write` writes everything. */
  readonly isFull: boolean
  /**
   * Does in steps what `write` will do for one Service alone, so that its failure concerns no other Service.
   * @throws Error where nothing can be made of these ports
   */
  trying(ports: readonly ServicePort[]): Generator<void>
  /**
   * Updates the kernel's rules. Returns whether anything had to be written.
   * @throws Error after which the content of the kernel is unknown, so that the next call writes everything
   */
  write(input: RuleInput): Promise<boolean>
  /** Whether the kernel would take the rules of these Services, by `<namespace>/<name>`, if it had no others. */
  accepts(services: ReadonlyMap<string, readonly ServicePort[]>, serviceCidrs: readonly string[]): Promise<boolean>
  /** Whether the rules still exist; another program may have flushed the tables. */
  intact(): Promise<boolean>
  /** Makes the next call of `write` write everything. */
  forget(): void
}
