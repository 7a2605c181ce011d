/** Authorities of others, beside the cluster's own. Source: apiserver pkg/server/options/authentication.go. */
export interface FurtherAuthorities {
  /** PEM of authorities whose client certificates are users, as `--client-ca-file` has it. */
  readonly clientCaPem?: string | undefined
  readonly frontProxy?: FrontProxy | undefined
}

/** A proxy that names the users of its requests in headers, as `--requestheader-*` have it. */
export interface FrontProxy {
  /** PEM of the authorities of its certificate. */
  readonly caPem: string
  /** The common names that it may have; any unless given. */
  readonly allowedNames: readonly string[]
  readonly headers: FrontProxyHeaders
}

/** The headers of a front proxy, in lower case. Of several the first with a value counts, of groups all do. */
export interface FrontProxyHeaders {
  readonly username: readonly string[]
  readonly group: readonly string[]
  readonly uid: readonly string[]
  readonly extraPrefix: readonly string[]
}

/** The headers of the cluster's own front proxies. */
export const USUAL_HEADERS: FrontProxyHeaders = {
  username: ["x-remote-user"],
  group: ["x-remote-group"],
  uid: ["x-remote-uid"],
  extraPrefix: ["x-remote-extra-"],
}
