import type { ImageService } from "../../../pkg/cri/service.ts"

/**
 * Returns an image service that shows one image as pinned, so that it is never removed to free space. containerd before
 * 2.0 does not do so itself for the image of sandboxes, without which no pod starts.
 */
export const withPinnedImage = (images: ImageService, name: string): ImageService => {
  const names = [name, `docker.io/library/${name}`, `docker.io/${name}`]
  return {
    ...images,
    listImages: async (...call) =>
      (await images.listImages(...call)).map((image) =>
        [...image.repoTags, ...image.repoDigests].some((of) => names.includes(of)) ? { ...image, pinned: true } : image,
      ),
  }
}
