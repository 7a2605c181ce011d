import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { PeerCertificate } from "../../../pkg/runtime/peer-certificate.ts"
import type { UserInfo } from "../request.ts"
import { tokenOfProtocols } from "../../../pkg/streaming/websocket-token.ts"

export const AUTHENTICATED = "system:authenticated"
export const UNAUTHENTICATED = "system:unauthenticated"
export const ANONYMOUS: UserInfo = { name: "system:anonymous", groups: [UNAUTHENTICATED] }

/**
 * Judges a bearer token: the user; undefined when it is not one of this authenticator's; an error when it is, and does
 * not hold.
 */
export interface TokenAuthenticator {
  /** `audiences`: for whom it has to be; the API server itself when left out. */
  authenticate(token: string, audiences?: readonly string[]): TokenUser | TokenRefused | undefined
}

export interface TokenUser {
  readonly user: UserInfo
  /** Those of the asked audiences that the token is for. */
  readonly audiences?: readonly string[]
  /** What the audit event of a request says of the token. */
  readonly annotations?: Readonly<Record<string, string>>
  /** What the client is told of its token. */
  readonly warning?: string
}

export interface TokenRefused {
  readonly error: string
  /** What the audit event of a request says of the token. */
  readonly annotations?: Readonly<Record<string, string>>
}

/** What a request shows of its sender. */
export interface Credentials {
  readonly certificate: PeerCertificate | undefined
  readonly authorization: string | undefined
  /** Whether it asks to become a WebSocket, which may have its token among the subprotocols. */
  readonly isWebSocket: boolean
  /** Values of a header, by its lower-case name. */
  header(name: string): readonly string[]
  /** Every header name there is, in lower case. */
  headerNames(): readonly string[]
  readonly path: string
  /** Adds an annotation to the audit event of the request; absent where none is written. */
  readonly annotate?: ((key: string, value: string) => void) | undefined
  /** Adds a Warning header to the answer. */
  readonly warn?: ((text: string) => void) | undefined
}

export interface AuthenticatorOptions {
  readonly tokens: readonly TokenAuthenticator[]
  /**
   * What a certificate proves: undefined when nobody trusted signed it, "ignored" where none counts. Asked once for
   * each connection.
   */
  readonly meaningOf: (certificate: PeerCertificate) => CertificateMeaning | "ignored" | undefined
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

export interface CertificateMeaning {
  /**
   * `user`: its subject asks. `front-proxy`: its holder may say in X-Remote-* headers who does. Which of the two hangs
   * on the authority that signed it.
   */
  readonly is: "user" | "front-proxy"
  /**
   * The time in which the certificate and those between it and the authority hold: ms since the epoch, both ends
   * included.
   */
  readonly from: number
  readonly until: number
}

export interface Authenticator {
  /** Who asks. Throws Unauthorized when nobody known does. */
  authenticate(credentials: Credentials): UserInfo
  /** The chain of token authenticators alone: what a TokenReview asks. */
  token(token: string, audiences?: readonly string[]): TokenUser | TokenRefused | undefined
}

/**
 * A certificate may say nothing of who asks, or be bad: expired, or of a stranger. Whoever shows a bad one and nothing
 * else is not anonymous. Source: apiserver pkg/authentication/request/union NewFailOnError.
 */
type NoUser = "nothing" | "bad"

interface KnownCertificate extends CertificateMeaning {
  readonly user: UserInfo | "front-proxy"
}

/**
 * Without credentials only these may be asked: what load balancers and probes need. Source: KEP-4633 (anonymous
 * authentication by path).
 */
const ANONYMOUS_PATHS: readonly string[] = ["/healthz", "/livez", "/readyz", "/version"]
const isAnonymousPath = (path: string): boolean =>
  ANONYMOUS_PATHS.some(
    (prefix) => path === prefix || (path.startsWith(prefix) && path.charCodeAt(prefix.length) === 47),
  )

/**
 * The authenticators in their order: front proxy, client certificate, bearer token, anonymous. The first that knows the
 * sender decides. Source: pkg/kubeapiserver/authenticator/config.go.
 */
export function createAuthenticator({ tokens, meaningOf, now }: AuthenticatorOptions): Authenticator {
  // Connections live long: what their certificate says is worked out once. Whether it holds still is looked at with
  // each request.
  const byCertificate = new WeakMap<PeerCertificate, KnownCertificate | NoUser>()

  function ofCertificate(certificate: PeerCertificate): UserInfo | "front-proxy" | NoUser {
    let known = byCertificate.get(certificate)
    if (known === undefined) byCertificate.set(certificate, (known = readCertificate(certificate)))
    if (known === "nothing" || known === "bad") return known
    const time = now()
    return known.from <= time && time <= known.until ? known.user : "bad"
  }

  function readCertificate(certificate: PeerCertificate): KnownCertificate | NoUser {
    const { commonName, organizations } = certificate
    const meaning = meaningOf(certificate)
    if (meaning === undefined) return "bad"
    if (meaning === "ignored") return "nothing"
    if (meaning.is === "front-proxy") return { ...meaning, user: "front-proxy" }
    return commonName === ""
      ? "nothing"
      : { ...meaning, user: { name: commonName, groups: [...organizations, AUTHENTICATED] } }
  }

  function token(text: string, audiences?: readonly string[]): TokenUser | TokenRefused | undefined {
    let refused: TokenRefused | undefined
    for (const authenticator of tokens) {
      const verdict = authenticator.authenticate(text, audiences)
      if (verdict === undefined) continue
      if ("user" in verdict) return verdict
      refused = verdict
    }
    return refused
  }

  return {
    token,
    authenticate(credentials) {
      const { certificate, authorization } = credentials
      let isBad = false
      if (certificate !== undefined) {
        const known = ofCertificate(certificate)
        const user = known === "front-proxy" ? (remoteUser(credentials) ?? "nothing") : known
        if (typeof user === "object") return user
        isBad = user === "bad"
      }
      // Both ways count, and the header comes first: one with another scheme leaves the token to the subprotocols.
      const bearer =
        (authorization === undefined ? undefined : bearerOf(authorization)) ??
        (credentials.isWebSocket ? tokenOfProtocols(credentials.header("sec-websocket-protocol")) : undefined)
      if (bearer !== undefined) {
        const verdict = token(bearer)
        for (const [key, value] of Object.entries(verdict?.annotations ?? {})) credentials.annotate?.(key, value)
        if (verdict !== undefined && "user" in verdict) {
          if (verdict.warning !== undefined) credentials.warn?.(verdict.warning)
          return verdict.user
        }
        throw new ApiError(
          "Unauthorized",
          "Unauthorized",
          undefined,
          verdict === undefined ? undefined : { cause: new Error(verdict.error) },
        )
      }
      if (!isBad && isAnonymousPath(credentials.path)) return ANONYMOUS
      throw new ApiError("Unauthorized", "Unauthorized")
    },
  }
}

/** `Bearer <token>`, the scheme in any case. */
function bearerOf(authorization: string): string | undefined {
  if (
    authorization.length < 8 ||
    authorization.charCodeAt(6) !== 32 ||
    authorization.slice(0, 6).toLowerCase() !== "bearer"
  )
    return undefined
  const text = authorization.slice(7).trim()
  return text === "" ? undefined : text
}

const EXTRA_PREFIX = "x-remote-extra-"

/** The user that a trusted front proxy names. Source: authentication/request/headerrequest/requestheader.go. */
function remoteUser({ header, headerNames }: Credentials): UserInfo | undefined {
  const [name] = header("x-remote-user")
  if (name === undefined || name === "") return undefined
  const [uid] = header("x-remote-uid")
  const extra: Record<string, readonly string[]> = {}
  for (const key of headerNames())
    if (key.startsWith(EXTRA_PREFIX)) extra[unescaped(key.slice(EXTRA_PREFIX.length))] = header(key)
  return {
    name,
    groups: withAuthenticated(header("x-remote-group")),
    ...(uid === undefined ? {} : { uid }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  }
}

export const withAuthenticated = (groups: readonly string[]): readonly string[] =>
  groups.includes(AUTHENTICATED) || groups.includes(UNAUTHENTICATED) ? groups : [...groups, AUTHENTICATED]

/** Extra keys may hold what a header name may not, percent-encoded. */
export function unescaped(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}
