import type { ServicePort } from "./service-ports.ts"

/** By what the kernel's rules are written. */
export const PROXY_MODES = ["nftables", "iptables"] as const
export type ProxyMode = (typeof PROXY_MODES)[number]

/** The ports that one Service has in a family before and after a change; none where there is no such Service. */
export interface ServiceChange {
  readonly before: readonly ServicePort[]
  readonly after: readonly ServicePort[]
}

/** What the rules of a family follow from. */
export interface RuleInput {
  /** Gives the ports of all Services, of the family. */
  readonly ports: () => readonly ServicePort[]
  /** By `<namespace>/<name>`, the Services that changed since the last call, whether that succeeded or not. */
  readonly changes: ReadonlyMap<string, ServiceChange>
  /** Where the addresses of Services come from, of the family. */
  readonly serviceCidrs: readonly string[]
}

/** Writes the rules of one family to the kernel in one way. One call at a time. */
export interface RuleWriter {
  readonly mode: ProxyMode
  /** Whether the next call of `write` writes everything. */
  readonly isFull: boolean
  /**
   * Brings the kernel's rules in line. Returns whether anything had to be written.
   *
   * @throws Error after which it is unknown what the kernel holds: the next call writes everything
   */
  write(input: RuleInput): Promise<boolean>
  /** Are our rules still there? Somebody may have flushed the tables. */
  intact(): Promise<boolean>
  /** Has the next call of `write` write everything. */
  forget(): void
}
