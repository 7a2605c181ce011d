import { Buffer } from "node:buffer"
import { readFileSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { parse } from "yaml"
import { z } from "zod"

/** How to reach a server, and as which user: one context of a kubeconfig, with all files it names read in. */
export interface ClientConfig {
  /** A URL such as `https://127.0.0.1:6443`. */
  readonly server: string
  /** The cluster's authorities as PEM; absent: those of the system. */
  readonly ca?: string
  readonly insecureSkipTlsVerify?: boolean
  /** The name that the server's certificate must be valid for, when it is not that of the address. */
  readonly tlsServerName?: string
  readonly certificate?: { readonly cert: string; readonly key: string }
  readonly token?: string
  /** The file with the token. It is read for each request, because tokens in pods are replaced. */
  readonly tokenFile?: string
  /** Namespace of the context. */
  readonly namespace?: string
}

/** Source of the shape: client-go tools/clientcmd/api/v1/types.go. */
const Kubeconfig = z.object({
  clusters: z
    .array(
      z.object({
        name: z.string(),
        cluster: z.object({
          server: z.string(),
          "certificate-authority": z.string().optional(),
          "certificate-authority-data": z.string().optional(),
          "insecure-skip-tls-verify": z.boolean().optional(),
          "tls-server-name": z.string().optional(),
        }),
      }),
    )
    .default([]),
  users: z
    .array(
      z.object({
        name: z.string(),
        user: z
          .object({
            token: z.string().optional(),
            tokenFile: z.string().optional(),
            "client-certificate": z.string().optional(),
            "client-certificate-data": z.string().optional(),
            "client-key": z.string().optional(),
            "client-key-data": z.string().optional(),
          })
          .nullish(),
      }),
    )
    .default([]),
  contexts: z
    .array(
      z.object({
        name: z.string(),
        context: z.object({ cluster: z.string(), user: z.string().default(""), namespace: z.string().optional() }),
      }),
    )
    .default([]),
  "current-context": z.string().default(""),
})

/**
 * Reads one context of a kubeconfig: the named one, or the current one.
 * @param directory Relative file names in the kubeconfig are relative to this folder.
 * @throws Error that names what is missing or wrong
 */
export function parseKubeconfig(
  text: string,
  { context: wanted, directory = "." }: { readonly context?: string; readonly directory?: string } = {},
): ClientConfig {
  const parsed = Kubeconfig.safeParse(parse(text))
  if (!parsed.success) throw new Error(`Cannot read the kubeconfig: ${z.prettifyError(parsed.error)}`)
  const { clusters, users, contexts, "current-context": current } = parsed.data
  const name = wanted ?? current
  const context = contexts.find((known) => known.name === name)?.context
  if (context === undefined)
    throw new Error(
      `Cannot use the kubeconfig: it has no context ${JSON.stringify(name)}; it has ` +
        `${contexts.map((known) => known.name).join(", ") || "none"}`,
    )
  const cluster = clusters.find((known) => known.name === context.cluster)?.cluster
  if (cluster === undefined)
    throw new Error(
      `Cannot use the kubeconfig: context ${JSON.stringify(name)} names cluster ` +
        `${JSON.stringify(context.cluster)}, which is not in it`,
    )
  const user = users.find((known) => known.name === context.user)?.user ?? {}

  const read = (data: string | undefined, file: string | undefined): string | undefined =>
    data !== undefined
      ? Buffer.from(data, "base64").toString()
      : file !== undefined && file !== ""
        ? readFileSync(resolve(directory, file), "utf8")
        : undefined
  const ca = read(cluster["certificate-authority-data"], cluster["certificate-authority"])
  const cert = read(user["client-certificate-data"], user["client-certificate"])
  const key = read(user["client-key-data"], user["client-key"])
  if ((cert === undefined) !== (key === undefined))
    throw new Error(
      `Cannot use the kubeconfig: user ${JSON.stringify(context.user)} has a client ` +
        `${cert === undefined ? "key without a certificate" : "certificate without a key"}`,
    )
  return {
    server: cluster.server.replace(/(?<!\/)\/+$/, ""),
    ...(ca === undefined ? {} : { ca }),
    ...(cluster["insecure-skip-tls-verify"] === true ? { insecureSkipTlsVerify: true } : {}),
    ...(cluster["tls-server-name"] === undefined ? {} : { tlsServerName: cluster["tls-server-name"] }),
    ...(cert === undefined || key === undefined ? {} : { certificate: { cert, key } }),
    ...(user.token === undefined ? {} : { token: user.token }),
    ...(user.token !== undefined || user.tokenFile === undefined
      ? {}
      : { tokenFile: resolve(directory, user.tokenFile) }),
    ...(context.namespace === undefined ? {} : { namespace: context.namespace }),
  }
}

export const loadKubeconfig = (path: string, context?: string): ClientConfig =>
  parseKubeconfig(readFileSync(path, "utf8"), {
    directory: dirname(path),
    ...(context === undefined ? {} : { context }),
  })
