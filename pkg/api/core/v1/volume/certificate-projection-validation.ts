import type { Cause } from "../../../../apimachinery/errors.ts"
import { labelSelectorFaults } from "../../../../apimachinery/selectors/labelselector.ts"
import { invalidValue, notSupported, required } from "../../../../apimachinery/validation/field-errors.ts"
import { pushAll } from "../../../../lists/push-all.ts"
import { signerNameFaults } from "../../../certificates/v1/signer-name.ts"
import { longestSeconds } from "../../../certificates/v1beta1/signer-limits.ts"
import { signerOfTrustBundle, trustBundleNameProblem } from "../../../certificates/v1beta1/trust-bundle-name.ts"
import { userAnnotationFaults } from "../../../certificates/v1beta1/user-annotations.ts"
import { localFile } from "../path-validation.ts"
import type { ClusterTrustBundleProjection, PodCertificateProjection } from "./volume-projected.ts"

/** Sources of projected volumes that are off by default. Source: pkg/apis/core/validation/validation.go. */

export function trustBundleSourceFaults(source: ClusterTrustBundleProjection): readonly Cause[] {
  const { name, signerName, labelSelector, path } = source
  const causes: Cause[] = []
  if (name !== undefined && signerName !== undefined)
    causes.push(invalidValue("", source, "only one of name and signerName may be used"))
  else if (name !== undefined) {
    if (name === "") causes.push(required("name", "must be a valid object name"))
    for (const problem of [trustBundleNameProblem(signerOfTrustBundle(name), name) ?? []].flat())
      causes.push(invalidValue("name", name, `not a valid clustertrustbundlename: ${problem}`))
    if (labelSelector !== undefined)
      causes.push(invalidValue("labelSelector", labelSelector, "labelSelector must be unset if name is specified"))
  } else if (signerName !== undefined) {
    if (signerName === "") causes.push(required("signerName", "must be a valid signer name"))
    pushAll(causes, signerNameFaults("signerName", signerName))
    if (labelSelector !== undefined) pushAll(causes, labelSelectorFaults("labelSelector", labelSelector))
  } else causes.push(required("", "either name or signerName must be specified"))
  if (path === "") causes.push(required("path"))
  pushAll(causes, localFile("path", path))
  return causes
}

const KEY_TYPES = ["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"]
const SHORTEST_SECONDS = 3600

export function podCertificateFaults(source: PodCertificateProjection): readonly Cause[] {
  const { signerName, keyType, maxExpirationSeconds: seconds, userAnnotations } = source
  const causes: Cause[] = [
    ...signerNameFaults("signerName", signerName),
    ...userAnnotationFaults("userAnnotations", userAnnotations),
  ]
  if (!KEY_TYPES.includes(keyType)) causes.push(notSupported("keyType", keyType, KEY_TYPES))
  if (seconds !== undefined) {
    const longest = longestSeconds(signerName)
    const bounds: [boolean, string][] = [
      [seconds < SHORTEST_SECONDS, `>= ${SHORTEST_SECONDS}`],
      [seconds > longest, `<= ${longest}`],
    ]
    for (const [isBeyond, bound] of bounds)
      if (isBeyond)
        causes.push(invalidValue("maxExpirationSeconds", seconds, `if provided, maxExpirationSeconds must be ${bound}`))
  }
  for (const name of PATHS) pushAll(causes, localFile(name, source[name] ?? ""))
  if (podCertificatePaths(source).length === 0)
    causes.push(required("", "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"))
  return causes
}

const PATHS = ["credentialBundlePath", "keyPath", "certificateChainPath"] as const

/** Returns the files that the source makes. */
export const podCertificatePaths = (source: PodCertificateProjection): readonly string[] =>
  PATHS.flatMap((name) => ((source[name] ?? "") === "" ? [] : [source[name]!]))
