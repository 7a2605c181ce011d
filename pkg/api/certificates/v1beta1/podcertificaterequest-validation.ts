import { Buffer } from "node:buffer"
import { constants, createPublicKey, verify, type KeyObject } from "node:crypto"
import type { Cause } from "../../../apimachinery/errors.ts"
import {
  invalidValue,
  invalidValues,
  invalidWithoutValue,
  tooLong,
} from "../../../apimachinery/validation/field-errors.ts"
import { isDNS1123Subdomain } from "../../../apimachinery/validation/names.ts"
import { pushAll } from "../../../lists/push-all.ts"
import { CertificateRequestError, readCertificateRequestDer } from "../../../pki/request/certificate-request.ts"
import { signerNameFaults } from "../v1/signer-name.ts"
import { longestSeconds } from "./signer-limits.ts"
import type { PodCertificateRequestSpec } from "./podcertificaterequestspec.ts"
import { userAnnotationFaults } from "./user-annotations.ts"

/** Source: pkg/apis/certificates/validation/validation.go ValidatePodCertificateRequestCreate. */

const STUB = "spec.stubPKCS10Request"
const KEY = "spec.pkixPublicKey"
const PROOF = "spec.proofOfPossession"
const LARGEST = 10 * 1024
const LONGEST_UID = 128
const SHORTEST_SECONDS = 3600

/** Returns the faults of a new request. */
export function requestFaults(spec: PodCertificateRequestSpec): readonly Cause[] {
  const { signerName, maxExpirationSeconds, pkixPublicKey, proofOfPossession, stubPKCS10Request } = spec
  const causes: Cause[] = [
    ...signerNameFaults("spec.signerName", signerName),
    ...userAnnotationFaults("spec.unverifiedUserAnnotations", spec.unverifiedUserAnnotations),
  ]
  for (const [name, uid] of [
    ["podName", "podUID"],
    ["serviceAccountName", "serviceAccountUID"],
    ["nodeName", "nodeUID"],
  ] as const) {
    pushAll(causes, invalidValues(`spec.${name}`, spec[name], isDNS1123Subdomain(spec[name])))
    if (spec[uid] === "") causes.push(invalidValue(`spec.${uid}`, "", "must not be empty"))
    if (spec[uid].length > LONGEST_UID) causes.push(tooLong(`spec.${uid}`, LONGEST_UID))
  }
  const longest = longestSeconds(signerName)
  if (maxExpirationSeconds < SHORTEST_SECONDS || maxExpirationSeconds > longest)
    causes.push(
      invalidValue(
        "spec.maxExpirationSeconds",
        maxExpirationSeconds,
        `must be in the range [${SHORTEST_SECONDS}, ${longest}]`,
      ),
    )
  const [stub, key, proof] = [stubPKCS10Request ?? "", pkixPublicKey ?? "", proofOfPossession ?? ""]
  if (stub !== "" && key === "" && proof === "") return [...causes, ...stubFaults(stub)]
  if (stub === "" && key !== "" && proof !== "") return [...causes, ...keyFaults(key, proof, spec.podUID)]
  return [
    ...causes,
    invalidWithoutValue("spec", "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set"),
  ]
}

function stubFaults(stub: string): readonly Cause[] {
  const der = Buffer.from(stub, "base64")
  if (der.length > LARGEST) return [tooLong(STUB, LARGEST)]
  try {
    const problem = keyProblem(publicKeyOf(readCertificateRequestDer(der).publicKey))
    return problem === undefined ? [] : [invalidWithoutValue(STUB, problem)]
  } catch (error) {
    if (!(error instanceof CertificateRequestError)) throw error
    const isSignature = error.message.includes("signature of the certificate request")
    return [invalidWithoutValue(STUB, isSignature ? "invalid signature" : "must be a valid PKCS#10 CSR")]
  }
}

const publicKeyOf = (der: Buffer): KeyObject => createPublicKey({ key: der, format: "der", type: "spki" })

/** Returns what is wrong with the kind or the size of a key. */
function keyProblem({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string | undefined {
  switch (asymmetricKeyType) {
    case "ed25519":
      return undefined
    case "ec":
      return ["prime256v1", "secp384r1", "secp521r1"].includes(asymmetricKeyDetails?.namedCurve ?? "")
        ? undefined
        : "elliptic public keys must use curve P256, P384, or P521"
    case "rsa":
      return [3072, 4096].includes(asymmetricKeyDetails?.modulusLength ?? 0)
        ? undefined
        : "RSA keys must have modulus size 3072 or 4096"
    default:
      return "unknown public key type; supported types are Ed25519, ECDSA, and RSA"
  }
}

function keyFaults(keyText: string, proofText: string, podUID: string): readonly Cause[] {
  const [der, proof] = [Buffer.from(keyText, "base64"), Buffer.from(proofText, "base64")]
  if (der.length > LARGEST) return [tooLong(KEY, LARGEST)]
  if (proof.length > LARGEST) return [tooLong(PROOF, LARGEST)]
  let key: KeyObject
  try {
    key = publicKeyOf(der)
  } catch {
    return [invalidWithoutValue(KEY, "must be a valid PKIX-serialized public key")]
  }
  const problem = keyProblem(key)
  if (problem !== undefined) return [invalidWithoutValue(KEY, problem)]
  return isProof(key, podUID, proof)
    ? []
    : [invalidWithoutValue(PROOF, "could not verify proof-of-possession signature")]
}

function isProof(key: KeyObject, podUID: string, proof: Buffer): boolean {
  const padding = key.asymmetricKeyType === "rsa" ? { padding: constants.RSA_PKCS1_PSS_PADDING } : {}
  try {
    const digest = key.asymmetricKeyType === "ed25519" ? null : "sha256"
    return verify(digest, Buffer.from(podUID), { key, ...padding }, proof)
  } catch {
    return false // a proof that cannot be read
  }
}

/** Returns the public key for which the certificate is. @throws Error for a request that was never validated */
export function requestedKey({ stubPKCS10Request, pkixPublicKey }: PodCertificateRequestSpec): KeyObject {
  const stub = stubPKCS10Request ?? ""
  return publicKeyOf(
    stub === ""
      ? Buffer.from(pkixPublicKey ?? "", "base64")
      : readCertificateRequestDer(Buffer.from(stub, "base64")).publicKey,
  )
}
