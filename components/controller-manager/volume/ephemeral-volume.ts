import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { keyFrom } from "../../../pkg/client/informer.ts"
import { defineController, type ReconcileContext } from "../../../pkg/controller/controller.ts"
import { controllerOf, controllerRef } from "../../../pkg/controller/owned.ts"
import { ephemeralClaimName } from "../../../pkg/pods/pod-claims.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { podsByClaim } from "../persistentvolume/indexes.ts"

type Volume = NonNullable<Pod["spec"]["volumes"]>[number]

/**
 * Creates the claims of pods' ephemeral volumes. The pod owns them, so they are deleted with it. Source:
 * pkg/controller/volume/ephemeral.
 */
export const ephemeralVolumes = defineController<Pod>({
  name: "ephemeral-volume-controller",
  eventSource: "ephemeral_volume",
  reconciles: Pod,
  concerns: ({ metadata, spec }) =>
    metadata.deletionTimestamp === undefined && spec.volumes?.some(({ ephemeral }) => ephemeral !== undefined) === true,
  watches: [
    {
      resource: PersistentVolumeClaim,
      keys: ({ metadata }, { informers }, _old, deleted) =>
        deleted
          ? informers
              .of(Pod)
              .by(podsByClaim, keyFrom(metadata))
              .map((pod) => keyFrom(pod.metadata))
          : [],
    },
  ],
  async reconcile(key, context) {
    const pod = context.informers.of(Pod).get(key)
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return
    for (const volume of pod.spec.volumes ?? [])
      try {
        await claim(pod, volume, context)
      } catch (err) {
        const reason = `ephemeral volume ${volume.name}: ${errorMessage(err)}`
        context.events.event(pod, "Warning", "FailedBinding", reason)
        throw err
      }
  },
})

async function claim(pod: Pod, volume: Volume, { client, informers }: ReconcileContext): Promise<void> {
  const template = volume.ephemeral?.volumeClaimTemplate
  if (template === undefined) return
  const { namespace, name: podName = "", uid } = pod.metadata
  const name = ephemeralClaimName(podName, volume.name)
  const there = informers.of(PersistentVolumeClaim).get(`${namespace}/${name}`)
  if (there !== undefined) {
    if (controllerOf(there)?.uid === uid) return
    throw new Error(`PVC ${namespace}/${name} was not created for pod ${namespace}/${podName} (pod is not owner)`)
  }
  const { annotations, labels } = template.metadata
  await client.create(PersistentVolumeClaim, {
    metadata: { namespace, name, annotations, labels, ownerReferences: [controllerRef(pod)] },
    spec: template.spec,
  })
}
