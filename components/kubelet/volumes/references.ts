import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { containersOf } from "../model/containers.ts"

/** An object in the pod's namespace that the pod refers to, or all ClusterTrustBundles, or its certificates, which have no name then. */
export interface Reference {
  readonly kind: "ConfigMap" | "Secret" | "ClusterTrustBundles" | "PodCertificates"
  readonly name: string
}

/** Returns the objects that environment variables of the pod's containers need, without optional ones. */
export const neededByVariables = (pod: Pod): readonly Reference[] =>
  containersOf(pod).flatMap(({ container: { env = [], envFrom = [] } }) => [
    ...envFrom.flatMap(({ configMapRef, secretRef }) => [
      ...reference("ConfigMap", configMapRef),
      ...reference("Secret", secretRef),
    ]),
    ...env.flatMap(({ valueFrom }) => [
      ...reference("ConfigMap", valueFrom?.configMapKeyRef),
      ...reference("Secret", valueFrom?.secretKeyRef),
    ]),
  ])

const reference = (
  kind: Reference["kind"],
  source: { readonly name: string; readonly optional?: boolean | undefined } | undefined,
): Reference[] => (source === undefined || source.optional === true ? [] : [{ kind, name: source.name }])
