import { X509Certificate } from "node:crypto"
import type { Cause } from "../../../apimachinery/errors.ts"
import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { invalidValue, invalidValues, NO_CAUSES, tooLong } from "../../../apimachinery/validation/field-errors.ts"
import { isPathSegmentName } from "../../../apimachinery/validation/names.ts"
import { pemBlocks, type PemBlock } from "../../../pki/der/pem.ts"
import { signerNameFaults } from "../v1/signer-name.ts"
import { trustBundleNameProblem } from "./trust-bundle-name.ts"

/**
 * Source: k8s.io/api certificates/v1beta1/types.go, pkg/registry/certificates/clustertrustbundle/strategy.go,
 * pkg/apis/certificates/validation. Served only where `--runtime-config` and the gate ClusterTrustBundle say so.
 */

export const ClusterTrustBundleSpec = message(
  "certificates.v1beta1.ClusterTrustBundleSpec",
  "The trust anchors, and whose they are.",
  {
    signerName: f.string(1, "Name of the signer whose trust anchors these are, if of any.").immutable(),
    trustBundle: f.string(2, "Certificates of authorities, as PEM.").required().ownRule(),
  },
)
export interface ClusterTrustBundleSpec extends ObjectOf<typeof ClusterTrustBundleSpec> {}

const fields = {
  spec: f.message(2, ClusterTrustBundleSpec, "The trust anchors, and whose they are.").required().ownRule(),
}
export interface ClusterTrustBundle extends ObjectFor<typeof fields> {}

export const ClusterTrustBundle = defineResource(
  {
    group: "certificates.k8s.io",
    version: "v1beta1",
    kind: "ClusterTrustBundle",
    plural: "clustertrustbundles",
    scope: "Cluster",
    offByDefault: true,
    doc: "Trust anchors (certificates of authorities) that pods can mount, those of a signer or of none.",
    upstreamChecks: { wholeMetadata: 1 },
    allowUnconditionalUpdate: false,
    // The rule for names depends on the signer, so `validate` has it.
    validateName: isPathSegmentName,
    ageColumn: false,
    columns: [
      {
        name: "SignerName",
        type: "string",
        doc: "Name of the signer whose trust anchors these are.",
        value: ({ spec: { signerName = "" } }) => (signerName === "" ? undefined : signerName),
      },
    ],
    fieldSelectors: { "spec.signerName": ({ spec }) => spec.signerName ?? "" },
    validate({ metadata: { name = "" }, spec: { signerName = "", trustBundle } }, old): readonly Cause[] {
      return [
        ...(isPathSegmentName(name) === undefined
          ? invalidValues("metadata.name", name, trustBundleNameProblem(signerName, name))
          : NO_CAUSES),
        ...(signerName === "" ? NO_CAUSES : signerNameFaults("spec.signerName", signerName)),
        // As upstream: what is unchanged is not read again, since another version may have accepted it.
        ...(trustBundle === old?.spec.trustBundle ? NO_CAUSES : trustBundleFaults(trustBundle)),
      ]
    },
  },
  fields,
)

const FIELD = "spec.trustBundle"
const LARGEST = 1024 * 1024

function trustBundleFaults(text: string): readonly Cause[] {
  if (text.length > LARGEST) return [tooLong(FIELD, LARGEST)]
  const fault = (why: string) => invalidValue(FIELD, "<value omitted>", why)
  const blocks = pemBlocks(text)
  const faults = blocks.flatMap((block, i) => {
    const problem = blockProblem(block)
    return problem === undefined ? [] : [fault(`entry ${i} ${problem}`)]
  })
  if (faults.length > 0) return faults
  if (blocks.length === 0) return [fault("at least one trust anchor must be provided")]
  const places = new Map<string, number[]>()
  for (const [i, { bytes }] of blocks.entries()) {
    const key = bytes.toString("latin1")
    places.set(key, [...(places.get(key) ?? []), i])
  }
  return [...places.values()]
    .filter(({ length }) => length > 1)
    .map((indices) => fault(`duplicate trust anchor (indices [${indices.join(" ")}])`))
}

function blockProblem({ label, hasHeaders, bytes }: PemBlock): string | undefined {
  if (label !== "CERTIFICATE") return `has bad block type: ${label}`
  if (hasHeaders) return "has PEM block headers"
  try {
    return new X509Certificate(bytes).ca ? undefined : "does not have the CA bit set"
  } catch {
    return "does not parse as X.509"
  }
}
