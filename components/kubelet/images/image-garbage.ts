import type { Image } from "../../../pkg/cri/image.ts"
import type { KubeletContext } from "../context.ts"
import { DEFAULT_TUNING, tuningOf } from "../model/tuning.ts"
import type { ImageManager } from "./image-manager.ts"

/**
 * Returns the images to remove until `bytes` are free, the longest unused first. An image is kept for `minAgeMs` after
 * it was last requested, because its container may not exist yet. Pure. Source:
 * pkg/kubelet/images/image_gc_manager.go freeSpace.
 */
export function imagesToRemove(
  images: readonly Image[],
  bytes: number,
  used: ReadonlySet<string>,
  lastUsed: ReadonlyMap<string, number>,
  now: number,
  minAgeMs = DEFAULT_TUNING.imageMinAgeMs,
): readonly Image[] {
  const candidates = images
    .filter(
      ({ id, pinned, repoTags, repoDigests }) =>
        !pinned && ![id, ...repoTags, ...repoDigests].some((name) => used.has(name)),
    )
    .filter(({ id }) => now - (lastUsed.get(id) ?? 0) >= minAgeMs)
    .toSorted((a, b) => (lastUsed.get(a.id) ?? 0) - (lastUsed.get(b.id) ?? 0))
  const chosen: Image[] = []
  let left = bytes
  for (const image of candidates) {
    if (left <= 0) break
    chosen.push(image)
    left -= image.size
  }
  return chosen
}

/**
 * Removes unused images until `wanted` bytes more are free. `used`: ids and names of the images of all containers.
 * Returns the bytes that this should have freed.
 */
export async function removeUnusedImages(
  { runtime, clock, log, config }: KubeletContext,
  wanted: number,
  used: ReadonlySet<string>,
  manager: Pick<ImageManager, "lastUsed" | "removed">,
): Promise<number> {
  let freed = 0
  const { lastUsed } = manager
  const all = await runtime.images.listImages()
  const { imageMinAgeMs } = tuningOf(config)
  for (const image of imagesToRemove(all, wanted, used, lastUsed, clock.now(), imageMinAgeMs)) {
    log.info("Removing an image to free space on the disk", { image: image.repoTags[0] ?? image.id, bytes: image.size })
    try {
      await runtime.images.removeImage(image.id)
      await manager.removed(image)
      freed += image.size
    } catch (err) {
      // The others may go, or pods: a runtime whose disk is full may not be able to remove anything.
      log.warn("Failed to remove an image; going on with the next", { image: image.repoTags[0] ?? image.id, err })
    }
  }
  return freed
}
