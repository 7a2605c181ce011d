import type { TlsOptions } from "../environment/connect.ts"
import type { Cluster, ExecConfig } from "./kubeconfig.ts"

/** How to reach a server, and as whom. */
export interface RestConfig {
  readonly server: URL
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

export interface Impersonation {
  readonly user: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}
