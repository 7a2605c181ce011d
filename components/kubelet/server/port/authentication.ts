import { createHash } from "node:crypto"
import { TokenReview } from "../../../../pkg/api/authentication/v1/tokenreview.ts"
import type { Client } from "../../../../pkg/client/client.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import { verifyCertificate } from "../../../../pkg/pki/verify.ts"
import type { PeerCertificate } from "../../../../pkg/runtime/http/peer-certificate.ts"
import { tokenOfProtocols } from "../../../../pkg/streaming/websocket-token.ts"
import { ExpiringCache } from "./expiring-cache.ts"

/** Who asks, as the API server knows users. */
export interface KubeletUser {
  readonly name: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}

/** What a request shows of its sender. */
export interface KubeletCredentials {
  readonly certificate: PeerCertificate | undefined
  readonly authorization: string | undefined
  /** Values of Sec-WebSocket-Protocol of a request to become a WebSocket, which may have its token there. */
  readonly protocols: readonly string[]
}

/** How long the API server's word on a token holds. Source: pkg/kubelet/apis/config/v1beta1/defaults.go CacheTTL. */
const TOKEN_MS = 120_000
/** Tokens at once. Source: client-go's LRU caches have some thousands. */
const MOST_TOKENS = 1024
const AUTHENTICATED = "system:authenticated"

/**
 * Tells who asks the kubelet: the holder of a certificate that the cluster's client authority has signed, or of a token
 * that the API server knows. Undefined for everybody else, nobody is anonymous. Source: cmd/kubelet/app/auth.go
 * BuildAuthn.
 */
export function kubeletAuthenticator({
  client,
  clock,
  clientCa,
}: {
  readonly client: Client
  readonly clock: Clock
  /** PEM of the authorities whose certificates name users. */
  readonly clientCa: () => string
}): (credentials: KubeletCredentials) => Promise<KubeletUser | undefined> {
  // Bad tokens are anybody's to make up: they never push out what is known of good ones.
  const [known, refused] = [
    new ExpiringCache<KubeletUser>(clock, MOST_TOKENS),
    new ExpiringCache<true>(clock, MOST_TOKENS),
  ]

  const ofCertificate = ({ raw, intermediates, ...subject }: PeerCertificate): KubeletUser | undefined => {
    const { commonName: name, organizations } = subject
    const isGood = verifyCertificate(raw, clientCa(), { now: clock.now(), intermediates }).ok
    return isGood && name !== "" ? userOf(name, "", organizations, {}) : undefined
  }

  async function ofToken(token: string): Promise<KubeletUser | undefined> {
    const key = createHash("sha256").update(token).digest("base64")
    const found = known.get(key)
    if (found !== undefined || refused.get(key) === true) return found
    const { status } = await client.create(TokenReview, { metadata: {}, spec: { token } })
    if (status.authenticated !== true) {
      refused.set(key, true, TOKEN_MS)
      return undefined
    }
    const { username = "", uid = "", groups = [], extra = {} } = status.user
    const user = userOf(username, uid, groups, extra)
    known.set(key, user, TOKEN_MS)
    return user
  }

  return async ({ certificate, authorization, protocols }) => {
    const holder = certificate === undefined ? undefined : ofCertificate(certificate)
    if (holder !== undefined) return holder
    const [, bearer] = /^bearer +(\S+) *$/i.exec(authorization ?? "") ?? []
    const token = bearer ?? tokenOfProtocols(protocols)
    return token === undefined ? undefined : ofToken(token)
  }
}

const userOf = (name: string, uid: string, groups: readonly string[], extra: KubeletUser["extra"]): KubeletUser => ({
  name,
  uid,
  groups: groups.includes(AUTHENTICATED) ? groups : [...groups, AUTHENTICATED],
  extra,
})
