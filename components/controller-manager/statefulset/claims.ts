import { isAlreadyExists } from "../../../pkg/apimachinery/errors.ts"
import type { StatefulSet } from "../../../pkg/api/apps/v1/statefulset.ts"
import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import type { ReconcileContext } from "../../../pkg/controller/controller.ts"
import { claimName, podName } from "./identity.ts"
import { failed } from "./failed.ts"

/** The claims of a StatefulSet's pod. Source: pkg/controller/statefulset/stateful_pod_control.go. */
const claimKeys = (set: StatefulSet, ordinal: number): readonly string[] =>
  (set.spec.volumeClaimTemplates ?? []).map(
    ({ metadata }) => `${set.metadata.namespace}/${claimName(set, metadata.name ?? "", ordinal)}`,
  )

/** Returns the claims of a pod that exist. */
export const claimsOf = (
  set: StatefulSet,
  ordinal: number,
  { informers }: Pick<ReconcileContext, "informers">,
): readonly PersistentVolumeClaim[] =>
  claimKeys(set, ordinal)
    .map((key) => informers.of(PersistentVolumeClaim).get(key))
    .filter((claim) => claim !== undefined)

/** Creates the claims of a pod that do not exist. @throws Error for a claim that is being deleted */
export async function createMissingClaims(set: StatefulSet, ordinal: number, context: ReconcileContext): Promise<void> {
  const { client, events, informers } = context
  for (const template of set.spec.volumeClaimTemplates ?? []) {
    const name = claimName(set, template.metadata.name ?? "", ordinal)
    const there = informers.of(PersistentVolumeClaim).get(`${set.metadata.namespace}/${name}`)
    if (there?.metadata.deletionTimestamp !== undefined) throw new Error(`pvc ${name} is being deleted`)
    if (there !== undefined) continue
    const { annotations, labels } = template.metadata
    try {
      await client.create(PersistentVolumeClaim, {
        metadata: {
          name,
          namespace: set.metadata.namespace,
          annotations,
          labels: { ...labels, ...set.spec.selector.matchLabels },
        },
        spec: template.spec,
      })
      const message = `Create Claim ${name} Pod ${podName(set, ordinal)} in StatefulSet ${set.metadata.name} success`
      events.event(set, "Normal", "SuccessfulCreate", message)
    } catch (err) {
      if (isAlreadyExists(err)) continue
      const message = `Create Claim ${name} for Pod ${podName(set, ordinal)} in StatefulSet ${set.metadata.name}`
      throw failed(set, "FailedCreate", message, err, context)
    }
  }
}
