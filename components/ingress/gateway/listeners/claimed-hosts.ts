import { HostMap } from "../../routing/host-map.ts"

/** Hostnames and wildcards of Gateway API, each with the one who claimed it first. */
export class ClaimedHosts {
  readonly #claimed = new HostMap<string>()
  /** By wildcard, also by one that nobody claimed, who claimed the first host that it covers. */
  readonly #covered = new Map<string, string>()

  claim(pattern: string, by: string): void {
    if (this.#claimed.get(pattern) === undefined) this.#claimed.set(pattern, by)
    for (let dot = pattern.indexOf(".", 1); dot > 0; dot = pattern.indexOf(".", dot + 1))
      this.#cover(`*${pattern.slice(dot)}`, by)
    this.#cover("", by)
  }

  /** Returns who claimed a hostname or wildcard that has a host in common with `pattern`. */
  holderOf(pattern: string): string | undefined {
    return this.#claimed.find(pattern)?.[1] ?? this.#covered.get(pattern)
  }

  #cover(wildcard: string, by: string): void {
    if (!this.#covered.has(wildcard)) this.#covered.set(wildcard, by)
  }
}
