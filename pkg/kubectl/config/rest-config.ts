import type { TlsOptions } from "../environment/connect.ts"
import type { Cluster, ExecConfig } from "./kubeconfig.ts"

/** How to reach a server, and as whom. */
export interface RestConfig {
  readonly server: URL
  /** The port in the configured address where that is the scheme's own, which a URL leaves out: `443`. */
  readonly usualPort?: string
  readonly tls: TlsOptions
  /** Whether the client's certificate and key are files: they are checked when a connection needs them. */
  readonly hasCertFiles?: boolean
  readonly proxy?: URL
  readonly token?: string
  readonly basic?: { readonly username: string; readonly password: string }
  readonly impersonate?: Impersonation
  readonly exec?: { readonly config: ExecConfig; readonly cluster: Cluster }
  /** The name of an in-tree provider, all of which are gone. */
  readonly authProvider?: string
  /** The longest time for an answer, in milliseconds; undefined: without limit. */
  readonly timeoutMs?: number
  readonly disableCompression: boolean
  /** The point of the past at which objects are read, of a server of k3ts. */
  readonly at?: string
}

/** Returns the port that an address names although it is the usual one. */
export const usualPortIn = (server: string): Pick<RestConfig, "usualPort"> => {
  const usualPort = /^(?:https:\/\/[^/]*:(443)|(?:http:\/\/)?[^/]*:(80))(?:\/|$)/.exec(server)?.slice(1).find(Boolean)
  return usualPort === undefined ? {} : { usualPort }
}

/** Returns the address of a request as logs and errors show it: with the port, where the configuration names it. */
export const shownUrl = ({ href, host, port }: URL, { usualPort }: Pick<RestConfig, "usualPort">): string =>
  usualPort === undefined || port !== "" ? href : href.replace(`//${host}`, `//${host}:${usualPort}`)

export interface Impersonation {
  readonly user: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}
