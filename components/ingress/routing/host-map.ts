/**
 * Values by hostnames and patterns of Gateway API: `*.example.com` stands for one or more labels before `.example.com`,
 * and the empty text for every host. A look-up takes one step for each label of the name, however many patterns there
 * are.
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

  /** Yields the patterns that match a name in lower case, with their values, most specific first. */
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

  /** Returns the value of the most specific pattern. */
  find(name: string): readonly [string, T] | undefined {
    for (const found of this.matching(name)) return found
    return undefined
  }
}

const rankOf = (pattern: string): number => (pattern === "" ? 0 : pattern.startsWith("*") ? pattern.length : 1000)

/** Returns whether a pattern is more specific than another one: a name before a wildcard, then the longer wildcard. */
export const moreSpecific = (pattern: string, than: string): boolean => rankOf(pattern) > rankOf(than)

/**
 * Returns the hosts at which a route is served by a listener: of each hostname of the route and that of the listener
 * the more specific one, if one covers the other. Source: sigs.k8s.io/gateway-api apis/v1/httproute_types.go
 * HTTPRouteSpec.Hostnames.
 */
export function intersection(listener: string, hostnames: readonly string[]): readonly string[] {
  if (hostnames.length === 0) return [listener]
  return hostnames.flatMap((hostname) => {
    if (covers(listener, hostname)) return hostname
    return covers(hostname, listener) ? listener : []
  })
}

/** Returns whether a pattern matches everything that another one matches. */
export function covers(pattern: string, other: string): boolean {
  if (pattern === "" || pattern === other) return true
  return pattern.startsWith("*.") && other.endsWith(pattern.slice(1)) && other.length > pattern.length - 1
}
