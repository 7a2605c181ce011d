/** How the path of a request is compared. `Prefix` compares element by element: `/foo` covers `/foo/bar`, not `/foobar`. */
export interface PathMatch {
  readonly type: "Exact" | "Prefix"
  readonly value: string
}

/** Where the requests for a host and a path go. */
export interface Route<T> {
  /** In lower case. `*.` at the start stands for exactly one label; empty for every host. */
  readonly host: string
  /** Absent for requests of the host that no path matches. */
  readonly path?: PathMatch
  readonly target: T
}

/** The paths of one host. */
interface Paths<T> {
  readonly host: string
  readonly exact: Map<string, T>
  /** By path without slashes at its end: `/` is the empty text. */
  readonly prefixes: Map<string, T>
  /** Length of the longest prefix. */
  longest: number
  fallback: T | undefined
}

/**
 * Finds the target of a request by host and path. The host is chosen first: the exact name before the wildcard before
 * every host. Within it an exact path wins, then the longest prefix, then the target without a path; paths of less
 * specific hosts are not looked at. Of two equal routes the earlier one counts. Source of the precedence: the comments
 * on IngressRule and HTTPIngressPath in k8s.io/api networking/v1/types.go.
 */
export class RoutingTable<T> {
  readonly #hosts = new Map<string, Paths<T>>()

  constructor(routes: Iterable<Route<T>>) {
    for (const route of routes) this.#add(route)
  }

  #add({ host, path, target }: Route<T>): void {
    let paths = this.#hosts.get(host)
    if (paths === undefined)
      this.#hosts.set(host, (paths = { host, exact: new Map(), prefixes: new Map(), longest: 0, fallback: undefined }))
    if (path === undefined) paths.fallback ??= target
    else if (path.type === "Exact") addOnce(paths.exact, path.value, target)
    else {
      const prefix = withoutSlashes(path.value)
      addOnce(paths.prefixes, prefix, target)
      paths.longest = Math.max(paths.longest, prefix.length)
    }
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

  #pathsOf(host: string): Paths<T> | undefined {
    const exact = this.#hosts.get(host)
    if (exact !== undefined && host !== "") return exact
    const dot = host.indexOf(".")
    return (dot > 0 ? this.#hosts.get(`*${host.slice(dot)}`) : undefined) ?? this.#hosts.get("")
  }
}

function addOnce<T>(map: Map<string, T>, key: string, target: T): void {
  if (!map.has(key)) map.set(key, target)
}

/** Tries the path and what is left of it when elements are taken off its end. */
function longestPrefix<T>({ prefixes, longest }: Paths<T>, path: string): T | undefined {
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

function withoutSlashes(path: string): string {
  let end = path.length
  while (end > 0 && path[end - 1] === "/") end--
  return path.slice(0, end)
}
