/**
 * Bootstrap tokens: Secrets in kube-system with which a machine without a certificate authenticates to the API server.
 * Sources: cluster-bootstrap/token/api/types.go, cluster-bootstrap/util/secrets.
 */
import { Buffer } from "node:buffer"
import { formatTime } from "../../../../apimachinery/scalars/time.ts"
import type { Random } from "../../../../clock/random.ts"
import type { Secret } from "./secret.ts"

export const BOOTSTRAP_TOKEN = "bootstrap.kubernetes.io/token"
export const BOOTSTRAP_NAMESPACE = "kube-system"
/** The group of all bootstrap tokens, in addition to the groups in their Secrets. */
export const BOOTSTRAPPERS = "system:bootstrappers"

/** The usages of bootstrap tokens. Source: KnownTokenUsages. */
export const TOKEN_USAGES = ["signing", "authentication"] as const
export type TokenUsage = (typeof TOKEN_USAGES)[number]

/** The two parts of a token, which is written as `<id>.<secret>`. Only the second part is secret. */
export interface TokenParts {
  readonly id: string
  readonly secret: string
}

export interface BootstrapToken extends TokenParts {
  readonly description?: string
  /** Milliseconds since the epoch; absent for a token that never expires. */
  readonly expires?: number
  readonly usages: readonly TokenUsage[]
  /** Groups besides `system:bootstrappers`, each with the prefix `system:bootstrappers:`. */
  readonly groups: readonly string[]
}

const TOKEN = /^([a-z0-9]{6})\.([a-z0-9]{16})$/
const ID = /^[a-z0-9]{6}$/
const GROUP = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/
/** The length of `<id>.<secret>`. */
const TOKEN_LENGTH = 23

/** Returns the parts of `<id>.<secret>`; undefined for any other text. */
export function parseBootstrapToken(text: string): TokenParts | undefined {
  if (text.length !== TOKEN_LENGTH) return undefined
  const [, id, secret] = TOKEN.exec(text) ?? []
  return id === undefined || secret === undefined ? undefined : { id, secret }
}

export const isTokenId = (text: string): boolean => ID.test(text)
export const isBootstrapGroup = (text: string): boolean => GROUP.test(text)

/** Returns the name of the Secret that holds a token. */
export const tokenSecretName = (id: string): string => `bootstrap-token-${id}`

const LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"

/** Makes a random token. */
export function newBootstrapToken(random: Random): TokenParts {
  const text = (length: number): string => {
    let made = ""
    while (made.length < length)
      // Bytes from 252 on are skipped, because they would make the first letters of the alphabet more likely.
      for (const byte of random.bytes(length))
        if (byte < 252 && made.length < length) made += LETTERS[byte % LETTERS.length]
    return made
  }
  return { id: text(6), secret: text(16) }
}

/** Returns the token that a Secret holds, expired or not; undefined when it holds none, or one that is malformed. */
export function tokenOfSecret({ type, data = {}, metadata }: Secret): BootstrapToken | undefined {
  if (type !== BOOTSTRAP_TOKEN || metadata.namespace !== BOOTSTRAP_NAMESPACE) return undefined
  const read = (key: string): string => Buffer.from(data[key] ?? "", "base64").toString("utf8")
  const parts = parseBootstrapToken(`${read("token-id")}.${read("token-secret")}`)
  if (parts === undefined || metadata.name !== tokenSecretName(parts.id)) return undefined
  const expires = expirationOf(read("expiration"))
  const description = read("description")
  const named = read("auth-extra-groups")
  const groups = named === "" ? [] : named.split(",")
  if (Number.isNaN(expires) || !groups.every(isBootstrapGroup)) return undefined
  return {
    ...parts,
    ...(description === "" ? {} : { description }),
    ...(expires === undefined ? {} : { expires }),
    usages: TOKEN_USAGES.filter((usage) => read(`usage-bootstrap-${usage}`) === "true"),
    groups,
  }
}

/**
 * Returns when a token Secret expires, in milliseconds since the epoch; undefined for never. A time that cannot be read
 * has passed. Source: cluster-bootstrap/util/secrets GetExpiration.
 */
export function tokenExpiration({ data = {} }: Secret): number | undefined {
  const time = expirationOf(Buffer.from(data["expiration"] ?? "", "base64").toString("utf8"))
  return Number.isNaN(time) ? 0 : time
}

/** Returns a time of RFC 3339. Other formats are refused, though Date.parse reads more. */
const expirationOf = (text: string): number | undefined =>
  text === ""
    ? undefined
    : /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text)
      ? Date.parse(text)
      : NaN

/** Returns the Secret of a token, without the fields that the API server fills in. */
export function secretOfToken({ id, secret, description, expires, usages, groups }: BootstrapToken) {
  const text: Record<string, string> = { "token-id": id, "token-secret": secret }
  if (description !== undefined) text["description"] = description
  if (expires !== undefined) text["expiration"] = formatTime(expires)
  for (const usage of usages) text[`usage-bootstrap-${usage}`] = "true"
  if (groups.length > 0) text["auth-extra-groups"] = groups.join(",")
  const data = Object.entries(text).map(([key, value]) => [key, Buffer.from(value, "utf8").toString("base64")])
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: BOOTSTRAP_NAMESPACE, name: tokenSecretName(id) },
    type: BOOTSTRAP_TOKEN,
    data: Object.fromEntries(data) as Readonly<Record<string, string>>,
  }
}
