import type { UserInfo } from "../call/request.ts"
import type { Decider } from "./authorizer.ts"

/**
 * Whether a user may approve or sign requests for a signer, or attest its trust anchors: by the signer's name, or by
 * that of all signers of its domain. Source: pkg/certauthorization.
 */
export function mayActForSigner(
  decider: Decider,
  user: UserInfo,
  verb: "approve" | "attest" | "sign",
  signerName: string,
): boolean {
  const [domain = ""] = signerName.split("/")
  return [signerName, `${domain}/*`].some(
    (name) =>
      decider.authorize({ user, verb, group: "certificates.k8s.io", version: "*", resource: "signers", name }).allowed,
  )
}
