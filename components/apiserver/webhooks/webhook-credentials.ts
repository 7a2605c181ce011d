import { readFileSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { isJsonObject } from "../../../pkg/apimachinery/json/json-value.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { parseYaml } from "../../../pkg/yaml/yaml.ts"

/** How a webhook recognizes this server. */
export interface WebhookCredentials {
  readonly authorization?: string | undefined
  /** A client certificate, as PEM. */
  readonly certificate?: { readonly cert: string; readonly key: string } | undefined
}

/** Returns the credentials for a host, which is followed by its port unless that is 443. */
export type CredentialsFor = (host: string) => WebhookCredentials | undefined

/**
 * Reads a kubeconfig whose users are named by hosts: `audit.default.svc`, `*.example.com`, `*`. The most special name
 * counts. Source: apiserver pkg/util/webhook/authentication.go.
 * @throws Error that names the file
 */
export function readWebhookCredentials(file: string): CredentialsFor {
  const known = new Map<string, WebhookCredentials>()
  try {
    const { value } = parseYaml(readFileSync(file, "utf8"))
    const users: unknown = isJsonObject(value) ? value["users"] : undefined
    for (const entry of Array.isArray(users) ? (users as readonly unknown[]) : [])
      if (isJsonObject(entry) && typeof entry["name"] === "string")
        known.set(entry["name"], credentialsIn(isJsonObject(entry["user"]) ? entry["user"] : {}, dirname(file)))
  } catch (err) {
    throw new Error(`${file}: ${errorMessage(err)}`, { cause: err })
  }
  return (host) => {
    const steps = host.split(".")
    const names = [host, ...steps.slice(1).map((_, i) => `*.${steps.slice(i + 1).join(".")}`), "*"]
    return names.map((name) => known.get(name)).find((found) => found !== undefined)
  }
}

function credentialsIn(user: Readonly<Record<string, unknown>>, folder: string): WebhookCredentials {
  const text = (name: string): string | undefined => {
    const value = user[name]
    return typeof value === "string" && value !== "" ? value : undefined
  }
  const read = (data: string, file: string): string | undefined => {
    const [inline, path] = [text(data), text(file)]
    if (inline !== undefined) return Buffer.from(inline, "base64").toString()
    return path === undefined ? undefined : readFileSync(resolve(folder, path), "utf8")
  }
  const cert = read("client-certificate-data", "client-certificate")
  const key = read("client-key-data", "client-key")
  const tokenFile = text("tokenFile")
  const token = text("token") ?? (tokenFile && readFileSync(resolve(folder, tokenFile), "utf8").trim())
  const basic = text("username") && `Basic ${btoa(`${text("username")}:${text("password") ?? ""}`)}`
  return {
    authorization: token === undefined ? basic : `Bearer ${token}`,
    certificate: cert === undefined || key === undefined ? undefined : { cert, key },
  }
}
