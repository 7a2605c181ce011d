import { withoutSlashes } from "./normal-path.ts"

/** How the path of a request is compared. `Prefix` compares path elements: `/foo` matches `/foo/bar`, not `/foobar`. */
export interface PathMatch {
  readonly type: "Exact" | "Prefix"
  readonly value: string
}

/** Where the requests for a host and a path go. */
export interface Route<T> {
  /** In lower case. `*.` at the start matches exactly one label; empty matches every host. */
  readonly host: string
  /** Undefined for requests to the host that match no path. */
  readonly path?: PathMatch
  readonly target: T
}

/** The paths of one host, each with the target that was added first. */
export class HostPaths<T> {
  readonly host: string
  readonly exact = new Map<string, T>()
  /** By path without slashes at its end: `/` is the empty string. */
  readonly prefixes = new Map<string, T>()
  /** The length of the longest prefix. */
  longest = 0
  fallback: T | undefined

  constructor(host: string) {
    this.host = host
  }

  /** `path` is undefined for requests that match no path. */
  add(path: PathMatch | undefined, target: T): void {
    if (path === undefined) this.fallback ??= target
    else if (path.type === "Exact") addOnce(this.exact, path.value, target)
    else {
      const prefix = withoutSlashes(path.value)
      addOnce(this.prefixes, prefix, target)
      this.longest = Math.max(this.longest, prefix.length)
    }
  }
}

/**
 * Finds the target of a request by host and path. First the host is chosen: the exact name before the wildcard, and
 * that before every host. For this host an exact path has precedence, then the longest prefix, then the target without
 * a path; paths of less specific hosts are not considered. Of two equal routes the first is used. Source of the
 * precedence: the comments on IngressRule and HTTPIngressPath in k8s.io/api networking/v1/types.go.
 */
export class RoutingTable<T> {
  readonly #hosts: ReadonlyMap<string, HostPaths<T>>

  constructor(hosts: ReadonlyMap<string, HostPaths<T>>) {
    this.#hosts = hosts
  }

  /** Returns the table of these routes. */
  static of<T>(routes: Iterable<Route<T>>): RoutingTable<T> {
    const hosts = new Map<string, HostPaths<T>>()
    for (const { host, path, target } of routes) {
      let paths = hosts.get(host)
      if (paths === undefined) hosts.set(host, (paths = new HostPaths(host)))
      paths.add(path, target)
    }
    return new RoutingTable(hosts)
  }

  /**
   * The target, and the host or pattern by which it was found. `host` without a port and in lower case; `path` as
   * `normalPath` gives it.
   */
  find(host: string, path: string): { readonly host: string; readonly target: T } | undefined {
    const paths = this.#pathsOf(host)
    if (paths === undefined) return undefined
    const target = paths.exact.get(path) ?? longestPrefix(paths, path) ?? paths.fallback
    return target === undefined ? undefined : { host: paths.host, target }
  }

  #pathsOf(host: string): HostPaths<T> | undefined {
    const exact = this.#hosts.get(host)
    if (exact !== undefined && host !== "") return exact
    const dot = host.indexOf(".")
    return (dot > 0 ? this.#hosts.get(`*${host.slice(dot)}`) : undefined) ?? this.#hosts.get("")
  }
}

function addOnce<T>(map: Map<string, T>, key: string, target: T): void {
  if (!map.has(key)) map.set(key, target)
}

/** Looks up the path, and then its prefixes with fewer and fewer elements. */
function longestPrefix<T>({ prefixes, longest }: HostPaths<T>, path: string): T | undefined {
  if (prefixes.size === 0) return undefined
  let end = path.length
  while (end > 0) {
    if (end <= longest) {
      const found = prefixes.get(path.slice(0, end))
      if (found !== undefined) return found
    }
    end = path.lastIndexOf("/", Math.min(end - 1, longest))
  }
  return prefixes.get("")
}
