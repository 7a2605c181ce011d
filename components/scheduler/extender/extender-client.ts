import { trimRight } from "../../../pkg/apimachinery/go/go-text.ts"
import { readFileSync } from "node:fs"
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http"
import { Agent as HttpsAgent, request as httpsRequest } from "node:https"
import { parseDuration } from "../../../pkg/apimachinery/scalars/time.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { fileError } from "../../../pkg/files/files.ts"
import { trusting } from "../../../pkg/pki/trust.ts"
import type { ExtenderConfig } from "../config/scheduler-configuration.ts"
import { PluginError } from "../plugin-host/plugin-host.ts"

/** Most bytes of one answer: ten thousand nodes, each as large as they are. */
const LARGEST_ANSWER = 64 * 1024 * 1024
/** Source: extender.go DefaultExtenderTimeout. */
const DEFAULT_TIMEOUT_MS = 5000

/** Asks an extender by one of its verbs. Rejects with a PluginError that names it. */
export type AskExtender = (verb: string, args: object) => Promise<unknown>

export const extenderName = ({ urlPrefix }: ExtenderConfig): string => `extender ${urlPrefix}`

/** How long one answer may take, in milliseconds. */
export const extenderTimeout = ({ httpTimeout }: ExtenderConfig): number =>
  parseDuration(httpTimeout) || DEFAULT_TIMEOUT_MS

/** Returns who asks an extender over HTTP or HTTPS. @throws Error for a file of `tlsConfig` that cannot be read */
export function httpExtender(config: ExtenderConfig, clock: Clock): AskExtender {
  const name = extenderName(config)
  const timeoutMs = extenderTimeout(config)
  const prefix = trimRight(config.urlPrefix, "/")
  const isSecure = prefix.startsWith("https:")
  const agent = isSecure ? new HttpsAgent({ keepAlive: true, ...tlsOf(config) }) : new HttpAgent({ keepAlive: true })
  const failed = (verb: string, why: string) => new PluginError(`${name}: ${verb} ${why}`, true)

  return (verb, args) =>
    new Promise((resolve, reject) => {
      const url = new URL(`${prefix}/${verb}`)
      const body = JSON.stringify(args)
      const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) }
      const outgoing = (isSecure ? httpsRequest : httpRequest)(url, { agent, method: "POST", headers })
      const end = (why: string) => {
        timer.cancel()
        reject(failed(verb, why))
        outgoing.destroy()
      }
      const timer = clock.setTimeout(() => end(`has not answered within ${timeoutMs / 1000}s`), timeoutMs)
      outgoing.on("error", (err) => end(`failed: ${err.message}`))
      outgoing.once("response", (incoming: IncomingMessage) => {
        const { statusCode } = incoming
        if (statusCode !== 200) return end(`failed with status code ${statusCode}`)
        const parts: Buffer[] = []
        let size = 0
        incoming.on("error", (err) => end(`failed: ${err.message}`))
        incoming.on("data", (part: Buffer) => {
          parts.push(part)
          size += part.length
          if (size > LARGEST_ANSWER) end(`answered more than ${LARGEST_ANSWER / 2 ** 20} MiB`)
        })
        incoming.once("end", () => {
          timer.cancel()
          try {
            resolve(JSON.parse(Buffer.concat(parts).toString("utf8")))
          } catch (err) {
            reject(failed(verb, `answered no JSON: ${errorMessage(err)}`))
          }
        })
      })
      outgoing.end(body)
    })
}

/** Over HTTPS without authorities an extender is not checked, as upstream. Source: extender.go makeTransport. */
export function tlsOf({ enableHTTPS, tlsConfig = NO_TLS }: ExtenderConfig): Readonly<Record<string, unknown>> {
  const { insecure, serverName, certFile, keyFile, caFile, certData, keyData, caData } = tlsConfig
  const ca = pemOf(caData, caFile)
  const [cert, key] = [pemOf(certData, certFile), pemOf(keyData, keyFile)]
  return {
    ...(ca !== undefined && !insecure ? trusting(ca) : {}),
    ...(insecure || (enableHTTPS && ca === undefined) ? { rejectUnauthorized: false } : {}),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(serverName === undefined ? {} : { servername: serverName }),
  }
}
const NO_TLS: NonNullable<ExtenderConfig["tlsConfig"]> = { insecure: false }

function pemOf(data: string | undefined, file: string | undefined): string | undefined {
  if (data !== undefined) return Buffer.from(data, "base64").toString("utf8")
  if (file === undefined) return undefined
  try {
    return readFileSync(file, "utf8")
  } catch (err) {
    throw fileError("read", file, err)
  }
}
