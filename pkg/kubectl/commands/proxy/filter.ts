import { compileRe2 } from "../../../re2/re2.ts"

/** Which requests pass, by regular expressions that match anywhere. Source: kubectl pkg/proxy/proxy_server.go. */
export interface RequestFilter {
  accepts(method: string, path: string, host: string): boolean
}

export interface FilterPatterns {
  readonly acceptPaths: string
  /** Paths that do not pass, whatever is accepted. */
  readonly rejectPaths: string
  readonly acceptHosts: string
  readonly rejectMethods: string
}

/** Patterns are between commas. @throws Error with Go's message for a pattern that is none */
export function filterOf(patterns: FilterPatterns): RequestFilter {
  const [acceptPaths, rejectPaths, acceptHosts, rejectMethods] = [
    patterns.acceptPaths,
    patterns.rejectPaths,
    patterns.acceptHosts,
    patterns.rejectMethods,
  ].map(matcherOf) as [Matcher, Matcher, Matcher, Matcher]
  return {
    accepts: (method, path, host) =>
      !rejectPaths(path) && !rejectMethods(method) && acceptPaths(path) && acceptHosts(host),
  }
}

type Matcher = (text: string) => boolean

function matcherOf(list: string): Matcher {
  const patterns = list === "" ? [] : list.split(",").map(compileRe2)
  return (text) => patterns.some((pattern) => pattern.test(text))
}

/** The host of a Host header, without its port. Source: Go net.SplitHostPort, which takes the brackets off an address. */
export function hostOfHeader(header: string): string {
  const bracketed = /^\[([^[\]]*)\]:[^:[\]]*$/.exec(header)
  if (bracketed !== null) return bracketed[1]!
  return /^([^:[\]]*):[^:[\]]*$/.exec(header)?.[1] ?? header
}
