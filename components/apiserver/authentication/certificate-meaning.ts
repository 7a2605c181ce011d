import type { AuthorityName } from "../../../pkg/pki/cluster-pki.ts"
import { membershipIn } from "../../../pkg/pki/node-membership.ts"
import { verifyCertificate } from "../../../pkg/pki/verify.ts"
import type { PeerCertificate } from "../../../pkg/runtime/http/peer-certificate.ts"
import { FRONT_PROXY, type ServingFiles } from "../serving/serving.ts"
import type { CertificateMeaning } from "./authenticator.ts"

/**
 * Returns what a client certificate proves; undefined when it proves nothing. Certificates of the client authority are
 * users; those of the request-header authority may only act for others. Source: apiserver
 * pkg/authentication/request/x509/x509.go.
 */
export function certificateMeaning({ pki, clientCertificates = true }: ServingFiles, now: () => number) {
  return ({ raw, intermediates, commonName }: PeerCertificate): CertificateMeaning | "ignored" | undefined => {
    if (!clientCertificates) return "ignored"
    const verified = (authority: AuthorityName) =>
      verifyCertificate(raw, pki.authorities[authority].certPem, { now: now(), intermediates })
    const user = verified("client-ca")
    if (user.ok) {
      const membership = membershipIn(raw)
      const ends = membership === undefined ? {} : { membership }
      return { is: "user", from: user.from, until: user.until, ...ends }
    }
    const proxy = commonName === FRONT_PROXY ? verified("request-header-ca") : user
    return proxy.ok ? { is: "front-proxy", from: proxy.from, until: proxy.until } : undefined
  }
}
