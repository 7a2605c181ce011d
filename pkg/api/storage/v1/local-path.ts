import { StorageClass } from "./storageclass.ts"

/**
 * The default StorageClass and its provisioner. The volumes are folders on the node of the first pod. Names and fields
 * are those of k3s (manifests/local-storage.yaml), so that what was written for it applies here.
 */
export const LOCAL_PATH = "rancher.io/local-path"
/** On a volume: the node whose provisioner has made it. */
export const MADE_ON = "local.path.provisioner/selected-node"

export const localPathClass: StorageClass = {
  apiVersion: StorageClass.apiVersion,
  kind: StorageClass.kind,
  metadata: { name: "local-path", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
  provisioner: LOCAL_PATH,
  reclaimPolicy: "Delete",
  volumeBindingMode: "WaitForFirstConsumer",
  allowVolumeExpansion: true,
}
