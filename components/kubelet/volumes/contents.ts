import type { ClusterTrustBundle } from "../../../pkg/api/certificates/v1beta1/clustertrustbundle.ts"
import type { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { KeyToPath, PodCertificateProjection } from "../../../pkg/api/core/v1/volume/volume-projected.ts"
import type { NodeAmounts } from "../downwardapi/resource-fields.ts"
import type { LateText, Payload } from "../runtime/payload.ts"
import type { PayloadBudget } from "../runtime/payload-budget.ts"
import type { Reference } from "./references.ts"

/** Reads the objects that volumes show, in the pod's namespace; undefined for an object that does not exist. */
export interface ContentSources {
  readonly pod: Pod
  readonly hostIps: readonly string[]
  configMap(name: string): Promise<ConfigMap | undefined>
  /** Returns the decoded values of a Secret by key, decoded once however many sources of the volume name it. */
  secret(name: string): Promise<ReadonlyMap<string, Uint8Array> | undefined>
  trustBundles(): Promise<readonly ClusterTrustBundle[]>
  podCertificate(
    source: PodCertificateProjection,
    index: number,
  ): Promise<{ readonly keyPem: string; readonly chainPem: string }>
  token(audience: string, expirationSeconds: number): Promise<LateText>
  node(): Promise<NodeAmounts>
  readonly budget: PayloadBudget
}

/** The files that a volume, or one source of a projected volume, takes from the API, and what makes them change. */
export interface Contents {
  /** The objects that the files come from. */
  readonly references: readonly Reference[]
  /** Whether the files show fields of the pod, so that a change of the pod changes them. */
  readonly fromPod: boolean
  /** Whether a file is a token or a certificate, which is renewed before it expires. */
  readonly hasToken: boolean
  /** Makes the files. @throws Error for a missing object or key that is not optional */
  files(sources: ContentSources): Promise<Payload>
}

/** Mode of a file for which neither the volume nor the item sets one. */
export const DEFAULT_MODE = 0o644

/** The keys of an object that a volume, or one source of a projected volume, selects. */
export interface KeySource {
  readonly name: string
  readonly items?: readonly KeyToPath[] | undefined
  readonly optional?: boolean | undefined
}
