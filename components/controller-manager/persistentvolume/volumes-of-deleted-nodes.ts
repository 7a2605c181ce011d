import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { LOCAL_PATH, MADE_ON } from "../../../pkg/api/storage/v1/local-path.ts"
import { keyFrom, type Index, type Informers } from "../../../pkg/client/informer.ts"
import { defineController, watching, type Controller } from "../../../pkg/controller/controller.ts"
import { isToRemove, removeVolume } from "../../../pkg/provisioner/reclaimer.ts"
import { MissingNodes } from "../missing-nodes.ts"

/**
 * Removes volumes of the class local-path whose node is deleted, when they are to be removed: no provisioner is left
 * that could remove their folder. Source: deleteFor in github.com/rancher/local-path-provisioner provisioner.go.
 * Differs from upstream: it waits until the node can be supposed not to come back.
 */
export const volumesOfDeletedNodes = (): Controller<PersistentVolume> => {
  const missing = new MissingNodes()
  return defineController<PersistentVolume>({
    name: "local-volume-orphan-controller",
    reconciles: PersistentVolume,
    concerns: (volume, { informers }) => isOrphan(volume, informers),
    watches: [
      watching(Node, ({ metadata }, { informers }, _old, deleted) =>
        deleted
          ? informers
              .of(PersistentVolume)
              .by(localVolumesByNode, metadata.name ?? "")
              .map((volume) => keyFrom(volume.metadata))
          : [],
      ),
    ],
    async reconcile(key, { informers, client, clock, log }) {
      const volume = informers.of(PersistentVolume).get(key)
      if (volume === undefined || !isOrphan(volume, informers)) {
        missing.forget(key)
        return
      }
      const left = missing.wait(key, clock.monotonic())
      if (left !== undefined) return { requeueAfter: left }
      await removeVolume(volume, { client })
      log.info("Removed volume of a deleted node", { volume: key, node: nodeOf(volume) })
    },
  })
}

const nodeOf = ({ metadata }: PersistentVolume): string | undefined => metadata.annotations?.[MADE_ON]

function isOrphan(volume: PersistentVolume, informers: Informers): boolean {
  const node = nodeOf(volume)
  return node !== undefined && isToRemove(LOCAL_PATH, volume) && informers.of(Node).get(node) === undefined
}

const localVolumesByNode: Index<PersistentVolume> = {
  name: "local-volumes-by-node",
  of: (volume) => {
    const node = nodeOf(volume)
    return node === undefined ? [] : [node]
  },
}
