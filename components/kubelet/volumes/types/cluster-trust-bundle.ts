import { Buffer } from "node:buffer"
import type { ClusterTrustBundle } from "../../../../pkg/api/certificates/v1beta1/clustertrustbundle.ts"
import type { ClusterTrustBundleProjection } from "../../../../pkg/api/core/v1/volume/volume-projected.ts"
import { fromLabelSelector } from "../../../../pkg/apimachinery/selectors/labels.ts"
import { pemBlocks, pemOf } from "../../../../pkg/pki/der/pem.ts"
import { DEFAULT_MODE, type Contents } from "../contents.ts"
import { credentialFile } from "./credential-file.ts"

/**
 * Returns the trust anchors of one ClusterTrustBundle, or of those of a signer, as a file, each once. Differs from
 * upstream: they are sorted, where its order changes with each start of the kubelet. Source: pkg/volume/projected,
 * pkg/kubelet/clustertrustbundle.
 */
export const trustBundleContents = (source: ClusterTrustBundleProjection, defaultMode = DEFAULT_MODE): Contents => ({
  references: [{ kind: "ClusterTrustBundles", name: "" }],
  fromPod: false,
  hasToken: false,
  async files({ pod, trustBundles, budget }) {
    const data = anchorsIn(selected(source, await trustBundles()))
    budget.take(data)
    return new Map([[source.path, credentialFile(pod, data, defaultMode)]])
  },
})

/** @throws Error when there is none, and the source is not optional */
function selected(
  { name, signerName, labelSelector, optional = false }: ClusterTrustBundleProjection,
  all: readonly ClusterTrustBundle[],
): readonly ClusterTrustBundle[] {
  if (name !== undefined) {
    const found = all.filter(({ metadata }) => metadata.name === name)
    if (found.length > 0 || optional) return found
    throw new Error(
      `while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io ${JSON.stringify(name)} not found`,
    )
  }
  const matcher = fromLabelSelector(labelSelector)
  const found = all.filter(
    ({ metadata, spec }) => spec.signerName === signerName && matcher.matches(metadata.labels ?? {}),
  )
  if (found.length > 0 || optional) return found
  throw new Error("combination of signerName and labelSelector matched zero ClusterTrustBundles")
}

function anchorsIn(bundles: readonly ClusterTrustBundle[]): string {
  const anchors = new Set(
    bundles.flatMap(({ spec }) => pemBlocks(spec.trustBundle).map(({ bytes }) => bytes.toString("latin1"))),
  )
  return [...anchors]
    .toSorted()
    .map((anchor) => pemOf("CERTIFICATE", Buffer.from(anchor, "latin1")))
    .join("")
}
