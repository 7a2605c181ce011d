import type { ProjectedVolumeSource, VolumeProjection } from "../../../../pkg/api/core/v1/volume/volume-projected.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import { trustBundleContents } from "./cluster-trust-bundle.ts"
import { configMapContents } from "./config-map.ts"
import type { Contents } from "../contents.ts"
import { downwardApiContents } from "./downward-api.ts"
import { podCertificateContents } from "./pod-certificate.ts"
import { secretContents } from "./secret.ts"
import { tokenContents } from "./token-projection.ts"

/**
 * Merges several sources into one volume. A later source replaces files of an earlier one at the same path; the errors
 * of all sources are reported together. Source: pkg/volume/projected.
 */
export function projectedContents({ sources: projections, defaultMode }: ProjectedVolumeSource): Contents {
  const parts = (projections ?? []).map((projection, index) => contentsIn(projection, index, defaultMode))
  return {
    references: parts.flatMap(({ references }) => references),
    fromPod: parts.some(({ fromPod }) => fromPod),
    hasToken: parts.some(({ hasToken }) => hasToken),
    async files(sources) {
      const files: Awaited<ReturnType<Contents["files"]>>[] = []
      const faults = new Set<string>()
      // One after another, as upstream: each of any number of tokens is a request.
      for (const part of parts)
        try {
          files.push(await part.files(sources))
        } catch (err) {
          faults.add(errorMessage(err))
        }
      if (faults.size === 1) throw new Error([...faults][0])
      if (faults.size > 1) throw new Error(`[${[...faults].join(", ")}]`)
      return new Map(files.flatMap((each) => [...each]))
    },
  }
}

function contentsIn(projection: VolumeProjection, index: number, defaultMode: number | undefined): Contents {
  const { configMap, secret, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate } = projection
  if (configMap !== undefined) return configMapContents(configMap, defaultMode)
  if (secret !== undefined) return secretContents(secret, defaultMode)
  if (downwardAPI !== undefined) return downwardApiContents(downwardAPI.items, defaultMode)
  if (serviceAccountToken !== undefined) return tokenContents(serviceAccountToken, defaultMode)
  if (clusterTrustBundle !== undefined) return trustBundleContents(clusterTrustBundle, defaultMode)
  if (podCertificate !== undefined) return podCertificateContents(podCertificate, index, defaultMode)
  return NOTHING
}

const NOTHING: Contents = { references: [], fromPod: false, hasToken: false, files: async () => new Map() }
