import { StorageClass } from "./storageclass.ts"

/**
 * The default StorageClass and its provisioner. The volumes are folders on the node of the first pod. Names and fields
 * are those of k3s (manifests/local-storage.yaml), so that manifests for k3s work unchanged.
 */
export const LOCAL_PATH = "rancher.io/local-path"
/** The annotation of a volume with the node whose provisioner has created it. */
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
