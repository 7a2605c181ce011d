import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { VolumeAttributesClass } from "../../../pkg/api/storage/v1/volumeattributesclass.ts"
import type { Index } from "../../../pkg/client/informer.ts"
import { controllerOf } from "../../../pkg/controller/owned.ts"
import { ephemeralClaimName } from "../../../pkg/pods/pod-claims.ts"
import { podsByClaim } from "../persistentvolume/indexes.ts"
import {
  defineController,
  type Controller,
  type ReconcileContext,
  watching,
  type Watched,
} from "../../../pkg/controller/controller.ts"

interface Protection<T extends KubeObject> {
  readonly name: string
  readonly resource: Resource<T>
  readonly finalizer: string
  readonly watches?: readonly Watched[]
  inUse(object: T, context: ReconcileContext): boolean | Promise<boolean>
}

/** Sets a finalizer on objects, and removes it from deleted objects that are not in use. */
function protecting<T extends KubeObject>({
  name,
  resource,
  finalizer,
  watches = [],
  inUse,
}: Protection<T>): Controller<T> {
  return defineController<T>({
    name,
    reconciles: resource,
    watches,
    async reconcile(key, context) {
      const object = context.informers.of(resource).get(key)
      if (object === undefined) return
      const { finalizers = [], deletionTimestamp } = object.metadata
      const has = finalizers.includes(finalizer)
      const wanted = deletionTimestamp === undefined || (has && (await inUse(object, context)))
      if (has === wanted) return
      const metadata = {
        ...object.metadata,
        finalizers: wanted ? [...finalizers, finalizer] : finalizers.filter((other) => other !== finalizer),
      }
      await context.client.update(resource, { ...object, metadata }).catch((err: unknown) => {
        if (!isNotFound(err)) throw err
      })
    },
  })
}

/**
 * A claim is in use while a pod with it is on a node, ended or not. Where the informer has no such pod the API is
 * asked, because a pod that was bound just now may not have reached the informer. Source:
 * pkg/controller/volume/pvcprotection.
 */
export const claimProtection = protecting<PersistentVolumeClaim>({
  name: "persistentvolumeclaim-protection-controller",
  resource: PersistentVolumeClaim,
  finalizer: "kubernetes.io/pvc-protection",
  // An update may hide that a pod was deleted and another of its name was created, with other claims.
  watches: [
    watching(Pod, (pod, _context, old) => [...podsByClaim.of(pod), ...(old === undefined ? [] : podsByClaim.of(old))]),
  ],
  async inUse(claim, { client, informers }) {
    const { namespace = "", name = "" } = claim.metadata
    const uses = (pod: Pod) => isUsedBy(pod, claim)
    if (informers.of(Pod).by(podsByClaim, `${namespace}/${name}`).some(uses)) return true
    return (await client.list(Pod, { namespace })).items.some(uses)
  },
})

/**
 * Whether a pod on a node has the claim. A claim of an ephemeral volume is let go of with the pod's containers, because
 * the pod may stay until its claim is gone (foreground deletion). Source: podUsesPVCForDeletion, podIsShutDown.
 */
const isUsedBy = ({ metadata, spec }: Pod, claim: PersistentVolumeClaim): boolean =>
  (spec.nodeName ?? "") !== "" &&
  (spec.volumes ?? []).some(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim?.claimName === claim.metadata.name) return true
    const hasEnded = metadata.deletionTimestamp !== undefined && metadata.deletionGracePeriodSeconds === 0
    return (
      ephemeral !== undefined &&
      !hasEnded &&
      ephemeralClaimName(metadata.name ?? "", name) === claim.metadata.name &&
      controllerOf(claim)?.uid === metadata.uid
    )
  })

/** A volume is in use while it is bound to a claim. Source: pkg/controller/volume/pvprotection. */
export const volumeProtection = protecting<PersistentVolume>({
  name: "persistentvolume-protection-controller",
  resource: PersistentVolume,
  finalizer: "kubernetes.io/pv-protection",
  inUse: ({ status }) => status.phase === "Bound",
})

const classesOfClaim = ({ spec, status }: PersistentVolumeClaim): readonly string[] =>
  [
    spec.volumeAttributesClassName,
    status.currentVolumeAttributesClassName,
    status.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ].filter((name) => name !== undefined && name !== "") as string[]
const classesOfVolume = ({ spec }: PersistentVolume): readonly string[] =>
  spec.volumeAttributesClassName ? [spec.volumeAttributesClassName] : []
const claimsByClass: Index<PersistentVolumeClaim> = { name: "attributes-class", of: classesOfClaim }
const volumesByClass: Index<PersistentVolume> = { name: "attributes-class", of: classesOfVolume }

/**
 * A class of volume attributes is in use while a claim or a volume names it. Source:
 * pkg/controller/volume/vacprotection.
 */
export const attributesClassProtection = protecting<VolumeAttributesClass>({
  name: "volumeattributesclass-protection-controller",
  resource: VolumeAttributesClass,
  finalizer: "kubernetes.io/vac-protection",
  watches: [
    watching(PersistentVolumeClaim, (claim, _context, old) => [
      ...classesOfClaim(claim),
      ...(old === undefined ? [] : classesOfClaim(old)),
    ]),
    watching(PersistentVolume, (volume, _context, old) => [
      ...classesOfVolume(volume),
      ...(old === undefined ? [] : classesOfVolume(old)),
    ]),
  ],
  inUse: ({ metadata: { name = "" } }, { informers }) =>
    informers.of(PersistentVolumeClaim).by(claimsByClass, name).length > 0 ||
    informers.of(PersistentVolume).by(volumesByClass, name).length > 0,
})
