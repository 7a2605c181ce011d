import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { CSIDriver } from "../../../pkg/api/storage/v1/csidriver.ts"
import { VolumeAttachment } from "../../../pkg/api/storage/v1/volumeattachment.ts"
import {
  defineController,
  watching,
  type Controller,
  type ReconcileContext,
} from "../../../pkg/controller/controller.ts"
import { claimNamesOf } from "../../../pkg/pods/pod-claims.ts"
import { attachmentsByNode } from "../../../pkg/component/volume-indexes.ts"
import { podsByClaim } from "../persistentvolume/indexes.ts"
import { Attachments } from "./attachments.ts"
import { attachWanted } from "./attach.ts"
import { nodesOf, podsUsing, wantedOn, type WantedVolume } from "./desired.ts"
import { detachUnwanted } from "./detach.ts"

/**
 * Attaches volumes of CSI drivers to the nodes whose pods need them, and detaches them: a VolumeAttachment for each,
 * which the driver's attacher carries out, and `volumesAttached` in the status of Nodes, for which kubelets wait.
 * Source: pkg/controller/volume/attachdetach. Differs from upstream: it runs on events of what it reads, not every
 * 100 ms.
 */
export const attachDetachController = (): Controller<Node> => {
  const attachments = new Attachments()
  return defineController<Node>({
    name: "persistentvolume-attach-detach-controller",
    eventSource: "attachdetach-controller",
    reconciles: Node,
    // One node after the other, so that two never take the same volume.
    workers: 1,
    concerns: ({ metadata, status }, { informers }) =>
      (status.volumesInUse ?? []).length > 0 ||
      (status.volumesAttached ?? []).length > 0 ||
      informers.of(VolumeAttachment).by(attachmentsByNode, metadata.name ?? "").length > 0,
    watches: [
      watching(Pod, (pod) => (pod.spec.nodeName && claimNamesOf(pod).length > 0 ? [pod.spec.nodeName] : [])),
      watching(PersistentVolumeClaim, ({ metadata, status }, { informers }) =>
        status.phase === "Bound"
          ? nodesOf(informers.of(Pod).by(podsByClaim, `${metadata.namespace}/${metadata.name}`))
          : [],
      ),
      watching(PersistentVolume, (volume, { informers }) =>
        volume.spec.csi === undefined ? [] : nodesOf(podsUsing(volume, informers)),
      ),
      watching(VolumeAttachment, (attachment, context, _old, deleted) => {
        attachments.seen(attachment, deleted)
        return [attachment.spec.nodeName, ...(deleted ? waitingFor(attachment, context) : [])]
      }),
      watching(CSIDriver, ({ metadata }, { informers }) =>
        informers
          .of(PersistentVolume)
          .list()
          .filter(({ spec }) => spec.csi?.driver === metadata.name)
          .flatMap((volume) => nodesOf(podsUsing(volume, informers))),
      ),
    ],
    async reconcile(key, context) {
      const node = context.informers.of(Node).get(key)
      if (node !== undefined && node.metadata.annotations?.[MANAGED] === undefined) return
      const wanted: ReadonlyMap<string, WantedVolume> =
        node === undefined ? new Map() : wantedOn(key, context.informers)
      const own = attachments.on(key, context.informers)
      const again = await detachUnwanted({ key, node, wanted, own, attachments, context })
      if (node !== undefined) await attachWanted({ node, wanted, own, attachments, context })
      return again === undefined ? undefined : { requeueAfter: again }
    },
  })
}

/**
 * An annotation of nodes whose volumes this controller attaches; kubelets of others do it themselves. Source:
 * pkg/volume/util ControllerManagedAttachAnnotation.
 */
const MANAGED = "volumes.kubernetes.io/controller-managed-attach-detach"

/** Returns the nodes with pods that may get a volume now. */
function waitingFor({ spec }: VolumeAttachment, { informers }: ReconcileContext): readonly string[] {
  const volume = informers.of(PersistentVolume).get(spec.source.persistentVolumeName ?? "")
  return volume === undefined ? [] : nodesOf(podsUsing(volume, informers))
}
