import { createHash } from "node:crypto"
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { MEMBERSHIP_EXTRA, membershipUri, type NodeMembership } from "../../../pkg/pki/node-membership.ts"
import type { PeerCertificate } from "../../../pkg/runtime/http/peer-certificate.ts"
import { isPending, type MaybePromise } from "../call/maybe-promise.ts"
import type { UserInfo } from "../call/request.ts"
import { USUAL_HEADERS, type FrontProxyHeaders } from "../serving/further-authorities.ts"
import { tokenOfProtocols } from "../../../pkg/streaming/websocket-token.ts"

/** The attribute of a user that names the credential, as in upstream's pkg/authentication/user. */
export const CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
export const AUTHENTICATED = "system:authenticated"
export const UNAUTHENTICATED = "system:unauthenticated"
export const ANONYMOUS: UserInfo = { name: "system:anonymous", groups: [UNAUTHENTICATED] }

/** The user; undefined for a token of another kind; an error for an invalid token. */
export type TokenVerdict = TokenUser | TokenRefused | undefined

/**
 * Authenticates a bearer token. Returns a promise only where another program must be asked, as an OpenID provider whose
 * key is unknown.
 */
export interface TokenAuthenticator {
  /** `audiences`: the audiences of which the token must have one; those of the API server unless given. */
  authenticate(token: string, audiences?: readonly string[]): MaybePromise<TokenVerdict>
}

export interface TokenUser {
  readonly user: UserInfo
  /** The requested audiences that the token has. */
  readonly audiences?: readonly string[]
  /** Annotations about the token for the audit event of a request. */
  readonly annotations?: Readonly<Record<string, string>>
  /** A warning about the token for the client. */
  readonly warning?: string
}

export interface TokenRefused {
  readonly error: string
  /** Annotations about the token for the audit event of a request. */
  readonly annotations?: Readonly<Record<string, string>>
}

/** What a request contains about its user. */
export interface Credentials {
  readonly certificate: PeerCertificate | undefined
  readonly authorization: string | undefined
  /** Whether the request asks for a WebSocket, whose token may be among the subprotocols. */
  readonly isWebSocket: boolean
  /** Returns the values of a header by its lower-case name. */
  header(name: string): readonly string[]
  /** Returns the names of all headers in lower case. */
  headerNames(): readonly string[]
  readonly path: string
  /** Adds an annotation to the audit event of the request; absent where none is written. */
  readonly annotate?: ((key: string, value: string) => void) | undefined
  /** Adds a Warning header to the response. */
  readonly warn?: ((text: string) => void) | undefined
}

export interface AuthenticatorOptions {
  readonly tokens: readonly TokenAuthenticator[]
  /**
   * Returns what a client certificate proves: undefined when no trusted authority signed it, "ignored" where client
   * certificates do not count. Called once for each connection.
   */
  readonly meaningOf: (certificate: PeerCertificate) => CertificateMeaning | "ignored" | undefined
  /** Returns whether the certificates of a membership count; they do unless given. */
  readonly isMember?: (membership: NodeMembership) => boolean
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Is told for each request by a client certificate in how many seconds that expires. */
  readonly expiresIn?: (seconds: number) => void
  /** Whether a request for this path without credentials is anonymous; by default those for health and version are. */
  readonly mayBeAnonymous?: (path: string) => boolean
}

export interface CertificateMeaning {
  /**
   * `user`: the subject of the certificate is the user. `front-proxy`: the X-Remote-* headers name the user. It depends
   * on the authority that signed the certificate.
   */
  readonly is: "user" | "front-proxy"
  /** The headers of a front proxy. */
  readonly headers?: FrontProxyHeaders
  /** The time in which the certificate and its intermediates are valid: ms since the epoch, both ends included. */
  readonly from: number
  readonly until: number
  /** The machine that has joined with it, as long as the certificate counts. */
  readonly membership?: NodeMembership
}

export interface Authenticator {
  /** Returns the user of a request. Throws Unauthorized when there is none, or rejects with it. */
  authenticate(credentials: Credentials): MaybePromise<UserInfo>
  /** Whether a certificate belongs to a machine that is no member any more. */
  isExpelled(certificate: PeerCertificate): boolean
  /** Runs the token authenticators alone, for a TokenReview. */
  token(token: string, audiences?: readonly string[]): MaybePromise<TokenVerdict>
}

/**
 * A certificate that names no user: "nothing" when it has no common name or client certificates do not count, "bad"
 * when it has expired or its authority is unknown. A request with a bad certificate and no other credentials is not
 * anonymous. Source: apiserver pkg/authentication/request/union NewFailOnError.
 */
type NoUser = "nothing" | "bad"

interface KnownCertificate extends CertificateMeaning {
  /** A front proxy is known by its headers. */
  readonly user: UserInfo | FrontProxyHeaders
}

/**
 * The paths open to anonymous requests unless something else is asked for: those that load balancers and probes need.
 * Source: KEP-4633 (anonymous authentication by path).
 */
const ANONYMOUS_PATHS: readonly string[] = ["/healthz", "/livez", "/readyz", "/version"]
const isAnonymousPath = (path: string): boolean =>
  ANONYMOUS_PATHS.some(
    (prefix) => path === prefix || (path.startsWith(prefix) && path.charCodeAt(prefix.length) === 47),
  )

/**
 * Creates the chain of authenticators: front proxy, client certificate, bearer token, anonymous. The first that finds a
 * user decides; a refused token ends the chain with 401. Source: pkg/kubeapiserver/authenticator/config.go.
 */
export function createAuthenticator({
  tokens,
  meaningOf,
  isMember = () => true,
  now,
  expiresIn,
  mayBeAnonymous = isAnonymousPath,
}: AuthenticatorOptions): Authenticator {
  // Connections live long, so the meaning of a certificate is cached. Whether it is still valid is checked for each
  // request.
  const byCertificate = new WeakMap<PeerCertificate, KnownCertificate | NoUser>()

  function knownOf(certificate: PeerCertificate): KnownCertificate | NoUser {
    let known = byCertificate.get(certificate)
    if (known === undefined) byCertificate.set(certificate, (known = readCertificate(certificate)))
    return known
  }

  function ofCertificate(certificate: PeerCertificate): UserInfo | FrontProxyHeaders | NoUser {
    const known = knownOf(certificate)
    if (known === "nothing" || known === "bad") return known
    const time = now()
    if (time < known.from || known.until < time) return "bad"
    if (known.membership !== undefined && !isMember(known.membership)) return "bad"
    expiresIn?.((known.until - time) / 1000)
    return known.user
  }

  function readCertificate(certificate: PeerCertificate): KnownCertificate | NoUser {
    const { commonName, organizations, uids = [] } = certificate
    const meaning = meaningOf(certificate)
    if (meaning === undefined) return "bad"
    if (meaning === "ignored") return "nothing"
    if (meaning.is === "front-proxy") return { ...meaning, user: meaning.headers ?? USUAL_HEADERS }
    if (commonName === "") return "nothing"
    const [uid] = uids
    if (uids.length > 1 || uid === "") return "bad"
    const groups = [...organizations, AUTHENTICATED]
    const user = {
      name: commonName,
      ...(uid === undefined ? {} : { uid }),
      groups,
      extra: extraOf(certificate, meaning),
    }
    return { ...meaning, user }
  }

  function token(text: string, audiences?: readonly string[]): MaybePromise<TokenVerdict> {
    return firstUser(tokens, 0, text, audiences, undefined)
  }

  /** Decides about the request of a token by what was found out about the token. */
  function userOf(verdict: TokenVerdict, { annotate, warn }: Credentials): UserInfo {
    if (verdict?.annotations !== undefined)
      for (const [key, value] of Object.entries(verdict.annotations)) annotate?.(key, value)
    if (verdict !== undefined && "user" in verdict) {
      if (verdict.warning !== undefined) warn?.(verdict.warning)
      return verdict.user
    }
    throw new ApiError(
      "Unauthorized",
      "Unauthorized",
      undefined,
      verdict === undefined ? undefined : { cause: new Error(verdict.error) },
    )
  }

  return {
    token,
    isExpelled(certificate) {
      const known = knownOf(certificate)
      return typeof known === "object" && known.membership !== undefined && !isMember(known.membership)
    },
    authenticate(credentials) {
      const { certificate, authorization } = credentials
      let isBad = false
      if (certificate !== undefined) {
        const known = ofCertificate(certificate)
        const user =
          typeof known === "object" && "username" in known ? (remoteUser(credentials, known) ?? "nothing") : known
        if (typeof user === "object") return user
        isBad = user === "bad"
      }
      // A token may be in the header or among the subprotocols. The header comes first; with another scheme it is
      // skipped.
      const bearer =
        (authorization === undefined ? undefined : bearerOf(authorization)) ??
        (credentials.isWebSocket ? tokenOfProtocols(credentials.header("sec-websocket-protocol")) : undefined)
      if (bearer !== undefined) {
        const verdict = token(bearer)
        return isPending(verdict) ? verdict.then((known) => userOf(known, credentials)) : userOf(verdict, credentials)
      }
      if (!isBad && mayBeAnonymous(credentials.path)) return ANONYMOUS
      throw new ApiError("Unauthorized", "Unauthorized")
    },
  }
}

/**
 * Asks the authenticators in turn, from the one at `index` on. The first user counts, else the last refusal.
 * @param refused of those asked before
 */
function firstUser(
  tokens: readonly TokenAuthenticator[],
  index: number,
  token: string,
  audiences: readonly string[] | undefined,
  refused: TokenRefused | undefined,
): MaybePromise<TokenVerdict> {
  let last = refused
  for (let i = index; i < tokens.length; i++) {
    const verdict = tokens[i]!.authenticate(token, audiences)
    if (isPending(verdict)) {
      const before = last
      return verdict.then((known) =>
        known !== undefined && "user" in known ? known : firstUser(tokens, i + 1, token, audiences, known ?? before),
      )
    }
    if (verdict === undefined) continue
    if ("user" in verdict) return verdict
    last = verdict
  }
  return last
}

/** Names the certificate, so that audit events tell one of a user from another. Source: x509.go. */
const extraOf = ({ raw }: PeerCertificate, { membership }: CertificateMeaning): NonNullable<UserInfo["extra"]> => ({
  ...(membership === undefined ? {} : { [MEMBERSHIP_EXTRA]: [membershipUri(membership)] }),
  [CREDENTIAL_ID]: [`X509SHA256=${createHash("sha256").update(raw).digest("hex")}`],
})

/** Returns the token of `Bearer <token>`; the scheme may be in upper or lower case. */
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

/** Returns the user that a trusted front proxy names. Source: authentication/request/headerrequest/requestheader.go. */
function remoteUser(
  { header, headerNames }: Credentials,
  { username, group, uid, extraPrefix }: FrontProxyHeaders,
): UserInfo | undefined {
  const first = (names: readonly string[]) =>
    names.map((name) => header(name)[0] ?? "").find((text) => text !== "") ?? ""
  const [name, id] = [first(username), first(uid)]
  if (name === "") return undefined
  const extra: Record<string, readonly string[]> = {}
  for (const key of headerNames()) {
    const prefix = extraPrefix.find((one) => key.startsWith(one))
    if (prefix !== undefined) extra[unescaped(key.slice(prefix.length))] = header(key)
  }
  return {
    name,
    groups: withAuthenticated(group.flatMap((one) => header(one))),
    ...(id === "" ? {} : { uid: id }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  }
}

export const withAuthenticated = (groups: readonly string[]): readonly string[] =>
  groups.includes(AUTHENTICATED) || groups.includes(UNAUTHENTICATED) ? groups : [...groups, AUTHENTICATED]

/** Decodes an extra key, whose characters that a header name may not have are percent-encoded. */
export function unescaped(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}
