import { request } from "node:https"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { NodeConnectors } from "../../../pkg/component/node-connector.ts"
import { silent, type Logger } from "../../../pkg/log/log.ts"
import type { Tracing } from "../../../pkg/tracing/tracing.ts"
import type { ApiServerConfig } from "../apiserver-config.ts"
import { createApiServer } from "../apiserver.ts"

export interface Answer {
  readonly code: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

export interface Call {
  readonly headers?: Readonly<Record<string, string | string[]>>
  readonly body?: string | Uint8Array
  /** A token, or none. */
  readonly token?: string | undefined
  readonly certificate?: { readonly certPem: string; readonly keyPem: string }
}

/** An object as the body of a call. */
export const json = (value: unknown): Call => ({
  headers: { "content-type": "application/json" },
  body: JSON.stringify(value),
})

export const CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
export const cm = (name: string, more: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  ...more,
})

/**
 * An API server that listens on loopback, in memory and on the real clock, in whose default namespace pods can be made.
 */
export async function startHttpServer(config: Partial<ApiServerConfig> = {}, tracing?: Tracing, log: Logger = silent) {
  const nodes = new NodeConnectors()
  const server = createApiServer(
    { clock: realClock, random: systemRandom, log, tracing },
    {
      listen: { host: "127.0.0.1", port: 0 },
      serviceCidrs: ["10.43.0.0/16"],
      nodePorts: { first: 30000, last: 32767 },
      clusterDomain: "cluster.local",
      nodes,
      frozen: true,
      ...config,
    },
  )
  await server.start(new AbortController().signal)
  const port = server.port!
  const {
    adminToken,
    pki: {
      authorities: {
        "server-ca": { certPem: ca },
      },
    },
  } = server.files!

  /** One real request; as the administrator unless said otherwise. */
  const call = (
    method: string,
    path: string,
    { headers = {}, body, certificate, ...rest }: Call = {},
  ): Promise<Answer> => {
    const token = "token" in rest ? rest.token : adminToken
    return new Promise((resolve, reject) => {
      const req = request(
        {
          host: "127.0.0.1",
          port,
          method,
          path,
          ca,
          agent: false,
          ...(certificate === undefined ? {} : { cert: certificate.certPem, key: certificate.keyPem }),
          headers: {
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
            ...(body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) }),
            ...headers,
          },
        },
        (res) => {
          const parts: Buffer[] = []
          res.on("data", (part: Buffer) => parts.push(part))
          res.on("end", () =>
            resolve({ code: res.statusCode!, headers: res.headers, text: Buffer.concat(parts).toString() }),
          )
          res.on("error", reject)
        },
      )
      req.on("error", reject)
      req.end(body)
    })
  }
  await call("POST", "/api/v1/namespaces/default/serviceaccounts", json({ metadata: { name: "default" } }))
  return { server, nodes, port, ca, adminToken, call, stop: () => server.stop() }
}
