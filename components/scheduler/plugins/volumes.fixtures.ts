import type { VolumeObjects } from "../volumebinding/volume-objects.ts"

/** A cluster without claims. */
export const NO_VOLUMES: VolumeObjects = {
  claim: () => undefined,
  volume: () => undefined,
  volumesFor: () => [],
  storageClass: () => undefined,
  csiNode: () => undefined,
  attachments: () => [],
}
