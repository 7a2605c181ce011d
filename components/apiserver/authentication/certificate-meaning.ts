import { membershipIn } from "../../../pkg/pki/node-membership.ts"
import { verifyCertificate } from "../../../pkg/pki/verify.ts"
import type { PeerCertificate } from "../../../pkg/runtime/http/peer-certificate.ts"
import { USUAL_HEADERS } from "../serving/further-authorities.ts"
import { FRONT_PROXY, type ServingFiles } from "../serving/serving.ts"
import type { CertificateMeaning } from "./authenticator.ts"

/**
 * Returns what a client certificate proves; undefined when it proves nothing. Certificates of the client authority are
 * users; those of the request-header authority may only act for others. The authorities of others come last, so they
 * change nothing about the cluster's own certificates. Sources: apiserver pkg/authentication/request/x509/x509.go,
 * headerrequest/requestheader.go.
 */
export function certificateMeaning({ pki, further, clientCertificates = true }: ServingFiles, now: () => number) {
  return ({ raw, intermediates, commonName }: PeerCertificate): CertificateMeaning | "ignored" | undefined => {
    if (!clientCertificates) return "ignored"
    const verified = (caPem: string) => verifyCertificate(raw, caPem, { now: now(), intermediates })
    const user = verified(pki.authorities["client-ca"].certPem)
    if (user.ok) {
      const membership = membershipIn(raw)
      const ends = membership === undefined ? {} : { membership }
      return { is: "user", from: user.from, until: user.until, ...ends }
    }
    const proxy = commonName === FRONT_PROXY ? verified(pki.authorities["request-header-ca"].certPem) : user
    if (proxy.ok) return { is: "front-proxy", headers: USUAL_HEADERS, from: proxy.from, until: proxy.until }
    const { frontProxy, clientCaPem = "" } = further ?? {}
    const mayBeProxy =
      frontProxy !== undefined && (frontProxy.allowedNames.length === 0 || frontProxy.allowedNames.includes(commonName))
    const other = mayBeProxy ? verified(frontProxy.caPem) : user
    if (other.ok) return { is: "front-proxy", headers: frontProxy!.headers, from: other.from, until: other.until }
    const otherUser = clientCaPem === "" ? user : verified(clientCaPem)
    return otherUser.ok ? { is: "user", from: otherUser.from, until: otherUser.until } : undefined
  }
}
