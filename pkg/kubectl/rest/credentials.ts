import { Buffer } from "node:buffer"
import type { RestConfig } from "../config/rest-config.ts"
import type { TlsOptions } from "../environment/connect.ts"

/** Who sends a request. */
export interface Credentials {
  headers(): Promise<Readonly<Record<string, string>>>
  /** The certificate that is shown to the server, where the user has one that the kubeconfig does not name. */
  certificate(): Promise<Pick<TlsOptions, "cert" | "key">>
  /** Asks for new credentials after the server refused these. Resolves with whether another try makes sense. */
  refresh(): Promise<boolean>
}

/** The credentials that the kubeconfig and the flags name. */
export const staticCredentials = ({ token, basic }: RestConfig): Credentials => ({
  headers: () =>
    Promise.resolve(
      basic !== undefined
        ? { Authorization: `Basic ${Buffer.from(`${basic.username}:${basic.password}`).toString("base64")}` }
        : token === undefined
          ? ({} as Readonly<Record<string, string>>)
          : { Authorization: `Bearer ${token}` },
    ),
  certificate: () => Promise.resolve({}),
  refresh: () => Promise.resolve(false),
})
