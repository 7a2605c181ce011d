/**
 * Values by host names and patterns of Gateway API: `*.example.com` stands for one label or more before
 * `.example.com`, and the empty text for every host. Looking up costs a step for each label of the name, however many
 * patterns there are.
 */
export class HostMap<T> {
  readonly #byPattern = new Map<string, T>()

  get patterns(): Iterable<string> {
    return this.#byPattern.keys()
  }

  get(pattern: string): T | undefined {
    return this.#byPattern.get(pattern)
  }

  set(pattern: string, value: T): void {
    this.#byPattern.set(pattern, value)
  }

  /** The patterns that are for a name in lower case, with their values, the most specific first. */
  *matching(name: string): Iterable<readonly [string, T]> {
    const exact = name === "" ? undefined : this.#byPattern.get(name)
    if (exact !== undefined) yield [name, exact]
    for (let dot = name.indexOf(".", 1); dot > 0; dot = name.indexOf(".", dot + 1)) {
      const pattern = `*${name.slice(dot)}`
      const value = this.#byPattern.get(pattern)
      if (value !== undefined) yield [pattern, value]
    }
    const every = this.#byPattern.get("")
    if (every !== undefined) yield ["", every]
  }

  /** The value of the most specific pattern. */
  find(name: string): readonly [string, T] | undefined {
    for (const found of this.matching(name)) return found
    return undefined
  }
}

const rankOf = (pattern: string): number => (pattern === "" ? 0 : pattern.startsWith("*") ? pattern.length : 1000)

/** Whether a pattern of a host goes before another one of the same host: a name, then the longer wildcard. */
export const moreSpecific = (pattern: string, than: string): boolean => rankOf(pattern) > rankOf(than)

/**
 * The hosts of a route at a listener with a host: the more specific one of each pair of which one covers the other.
 * Source: sigs.k8s.io/gateway-api apis/v1/httproute_types.go HTTPRouteSpec.Hostnames.
 */
export function intersection(listener: string, hostnames: readonly string[]): readonly string[] {
  if (hostnames.length === 0) return [listener]
  return hostnames.flatMap((hostname) => {
    if (covers(listener, hostname)) return hostname
    return covers(hostname, listener) ? listener : []
  })
}

/** Whether all names of the second pattern are names of the first one. */
export function covers(pattern: string, other: string): boolean {
  if (pattern === "" || pattern === other) return true
  return pattern.startsWith("*.") && other.endsWith(pattern.slice(1)) && other.length > pattern.length - 1
}
