import { writeYaml } from "../yaml/write.ts"

/** A kubeconfig: the server, the authority to trust and the user to be. Shape: client-go tools/clientcmd/api/v1. */
export interface Kubeconfig {
  readonly apiVersion: "v1"
  readonly kind: "Config"
  readonly clusters: readonly {
    readonly name: string
    readonly cluster: { readonly server: string; readonly "certificate-authority-data": string }
  }[]
  readonly contexts: readonly {
    readonly name: string
    readonly context: { readonly cluster: string; readonly user: string }
  }[]
  readonly "current-context": string
  readonly preferences: Readonly<Record<string, never>>
  readonly users: readonly { readonly name: string; readonly user: Readonly<Record<string, string>> }[]
}

export interface KubeconfigOptions {
  /** For instance `https://127.0.0.1:6443`. */
  readonly server: string
  readonly caPem: string
  readonly user: { readonly certPem: string; readonly keyPem: string } | { readonly token: string }
  /** The name of cluster, context and user; `default`, as in k3s, when absent. */
  readonly name?: string
}

/** Returns a kubeconfig with one cluster, one user and one context, and with all data embedded, as k3s writes it. */
export function buildKubeconfig({ server, caPem, user, name = "default" }: KubeconfigOptions): Kubeconfig {
  const base64 = (text: string) => Buffer.from(text).toString("base64")
  const credentials: Record<string, string> =
    "token" in user
      ? { token: user.token }
      : { "client-certificate-data": base64(user.certPem), "client-key-data": base64(user.keyPem) }
  return {
    apiVersion: "v1",
    clusters: [{ cluster: { "certificate-authority-data": base64(caPem), server }, name }],
    contexts: [{ context: { cluster: name, user: name }, name }],
    "current-context": name,
    kind: "Config",
    preferences: {},
    users: [{ name, user: credentials }],
  }
}

/** Returns the result of `buildKubeconfig` as YAML. */
export const kubeconfigYaml = (options: KubeconfigOptions): string => writeYaml(buildKubeconfig(options))
