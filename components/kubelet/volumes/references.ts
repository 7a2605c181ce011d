import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Volume } from "../../../pkg/api/core/v1/volume/volume.ts"
import { containersOf } from "../container/containers.ts"

/** An object of the pod's namespace that it takes contents from. */
export interface Reference {
  readonly kind: "ConfigMap" | "Secret"
  readonly name: string
}

/** What a volume takes contents from. */
export function volumeReferences({ configMap, secret, projected }: Volume): readonly Reference[] {
  if (configMap !== undefined) return [{ kind: "ConfigMap", name: configMap.name }]
  if (secret !== undefined) return [{ kind: "Secret", name: secret.secretName ?? "" }]
  return (projected?.sources ?? []).flatMap((source): Reference[] =>
    source.configMap !== undefined
      ? [{ kind: "ConfigMap", name: source.configMap.name }]
      : source.secret !== undefined
        ? [{ kind: "Secret", name: source.secret.name }]
        : [],
  )
}

/** What variables of the pod's containers come from, all but what may be missing. */
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

export const isFromPod = ({ downwardAPI, projected }: Volume): boolean =>
  downwardAPI !== undefined || projected?.sources?.some((source) => source.downwardAPI !== undefined) === true
export const hasToken = ({ projected }: Volume): boolean =>
  projected?.sources?.some(({ serviceAccountToken }) => serviceAccountToken !== undefined) === true
