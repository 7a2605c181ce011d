import { createHash } from "node:crypto"
import { ClusterTrustBundle } from "../../../pkg/api/certificates/v1beta1/clustertrustbundle.ts"
import { trustBundlePrefix } from "../../../pkg/api/certificates/v1beta1/trust-bundle-name.ts"
import { isAlreadyExists, isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { defineController, type Controller } from "../../../pkg/controller/controller.ts"

const SIGNER = "kubernetes.io/kube-apiserver-serving"

/**
 * Keeps the ClusterTrustBundle with the authority of the API server's certificate, and deletes the signer's other ones,
 * as after a change of the authority. Source: pkg/controller/certificates/clustertrustbundlepublisher.
 */
export const clusterTrustBundlePublisher = (caPem: () => string): Controller<ClusterTrustBundle> =>
  defineController<ClusterTrustBundle>({
    name: "kube-apiserver-serving-clustertrustbundle-publisher-controller",
    reconciles: ClusterTrustBundle,
    concerns: ({ spec }) => spec.signerName === SIGNER,
    // Each key stands for all bundles of the signer.
    workers: 1,
    start: (_context, enqueue) => enqueue(SIGNER),
    async reconcile(_key, { informers, client }) {
      const trustBundle = caPem()
      const name = nameOf(trustBundle)
      const bundles = informers.of(ClusterTrustBundle).list()
      const existing = bundles.find(({ metadata }) => metadata.name === name)
      if (existing === undefined)
        await client
          .create(ClusterTrustBundle, { metadata: { name }, spec: { signerName: SIGNER, trustBundle } })
          .catch((err: unknown) => {
            if (!isAlreadyExists(err)) throw err
          })
      else if (existing.spec.trustBundle !== trustBundle)
        await client.update(ClusterTrustBundle, { ...existing, spec: { ...existing.spec, trustBundle } })
      for (const { metadata, spec } of bundles) {
        if (spec.signerName !== SIGNER || metadata.name === name) continue
        await client.delete(ClusterTrustBundle, metadata).catch((err: unknown) => {
          if (!isNotFound(err)) throw err
        })
      }
    },
  })

const nameOf = (trustBundle: string): string =>
  trustBundlePrefix(SIGNER) + createHash("sha256").update(trustBundle).digest("hex").slice(0, 24)
