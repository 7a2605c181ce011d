/**
 * The token by which a machine joins a cluster: `K10<hash>::<user>:<password>` or `K10<hash>::<id>.<secret>`, in k3s's
 * format. The hash identifies the CA of the server's certificate, so that the machine can check the server before it
 * sends the password. Source: k3s pkg/clientaccess/token.go. Differs from k3s: the hash is always the fingerprint of
 * the root certificate (SHA-256 of its DER), which stays the same when the CA is rotated below the same root.
 */
import { Buffer } from "node:buffer"
import { X509Certificate } from "node:crypto"
import { parseBootstrapToken, type TokenParts } from "../../pkg/api/core/v1/secret/bootstrap-token.ts"
import { splitPem } from "../../pkg/pki/verify.ts"

const PREFIX = "K10"
const HASH = /^[0-9a-f]{64}$/
/** The longest text that is read as a token, in characters. */
const MAX_LENGTH = 4096

/** What a machine shows to the server: a user with a password, or a bootstrap token. */
export type JoinCredential =
  | { readonly user: string; readonly password: string }
  | { readonly bootstrapToken: TokenParts }

export interface JoinToken {
  /** SHA-256 of the root certificate, in hexadecimal; absent in a short token, with which any server is accepted. */
  readonly caHash?: string
  readonly credential: JoinCredential
}

/**
 * Reads a token: the whole one, or a short one, which is only a bootstrap token, or only the password of `user`.
 * @throws Error that says what is wrong, without the token's secret
 */
export function parseJoinToken(text: string, user: string): JoinToken {
  const trimmed = text.trim()
  if (trimmed === "") throw new Error("the token is empty")
  if (trimmed.length > MAX_LENGTH || /[^\x21-\x7e]/.test(trimmed))
    throw new Error("the token is malformed: it must be one line of at most 4096 visible ASCII characters")
  const end = trimmed.indexOf("::")
  if (!trimmed.startsWith(PREFIX) || end === -1)
    return { credential: credentialOf(trimmed) ?? { user, password: trimmed } }
  const hash = trimmed.slice(PREFIX.length, end)
  if (hash !== "" && !HASH.test(hash))
    throw new Error(`the token's hash of the CA must have 64 hexadecimal digits, but has ${hash.length} characters`)
  const rest = trimmed.slice(end + 2)
  const colon = rest.indexOf(":")
  const credential =
    credentialOf(rest) ??
    (colon > 0 && colon < rest.length - 1 ? { user: rest.slice(0, colon), password: rest.slice(colon + 1) } : undefined)
  if (credential === undefined)
    throw new Error("the token's end must be <user>:<password>, or <id>.<secret> of a bootstrap token")
  return hash === "" ? { credential } : { caHash: hash, credential }
}

function credentialOf(text: string): JoinCredential | undefined {
  const bootstrapToken = parseBootstrapToken(text)
  return bootstrapToken === undefined ? undefined : { bootstrapToken }
}

/** Returns the whole token for a cluster whose authority, with the certificates up to its root, is `caPem`. */
export const formatJoinToken = (caPem: string, credential: JoinCredential): string =>
  `${PREFIX}${fingerprintOf(rootOf(caPem))}::${textOf(credential)}`

const textOf = (credential: JoinCredential): string =>
  "user" in credential
    ? `${credential.user}:${credential.password}`
    : `${credential.bootstrapToken.id}.${credential.bootstrapToken.secret}`

/** Returns the value of the header Authorization for a credential. */
export const authorizationOf = (credential: JoinCredential): string =>
  "user" in credential
    ? `Basic ${Buffer.from(textOf(credential), "utf8").toString("base64")}`
    : `Bearer ${textOf(credential)}`

/** Reads the header Authorization; undefined where it has no credential by which a machine could join. */
export function credentialOfHeader(authorization: string | undefined): JoinCredential | undefined {
  const [, scheme = "", value = ""] = /^(Basic|Bearer) ([\x21-\x7e]{1,4096})$/i.exec(authorization ?? "") ?? []
  if (scheme.toLowerCase() === "bearer") return credentialOf(value)
  const text = Buffer.from(value, "base64").toString("utf8")
  const colon = text.indexOf(":")
  return colon > 0 && colon < text.length - 1
    ? { user: text.slice(0, colon), password: text.slice(colon + 1) }
    : undefined
}

/**
 * Returns, among the certificates that a server shows, the PEM of the root whose hash the token has; undefined when the
 * server belongs to another cluster. Only certificates that this root has signed may be trusted.
 */
export const pinnedRoot = (caPem: string, caHash: string): string | undefined =>
  splitPem(caPem).find((pem) => fingerprintOf(new X509Certificate(pem)) === caHash)

const fingerprintOf = (certificate: X509Certificate): string =>
  certificate.fingerprint256.replaceAll(":", "").toLowerCase()

/**
 * Returns the last certificate of the chain that begins with the first certificate: its issuer, the issuer's issuer and
 * so on.
 */
function rootOf(caPem: string): X509Certificate {
  const [first, ...others] = splitPem(caPem).map((pem) => new X509Certificate(pem))
  if (first === undefined) throw new Error("the file of the cluster's authority holds no certificate")
  let root = first
  const left = new Set(others)
  while (!isSelfIssued(root)) {
    const issuer = [...left].find((one) => root.checkIssued(one))
    if (issuer === undefined) break
    left.delete(issuer)
    root = issuer
  }
  return root
}

const isSelfIssued = (certificate: X509Certificate): boolean => certificate.checkIssued(certificate)
