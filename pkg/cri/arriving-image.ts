import type { Image } from "./image.ts"
import { unlessAborted } from "../flow/unless-aborted.ts"
import type { ImageService } from "./service.ts"

/** A store of images, some of which may come without a pull. */
export interface ArrivingImages {
  readonly images: ImageService
  /** Resolves when images came in that nobody pulled; undefined while none are under way. */
  readonly moreImages?: () => Promise<void> | undefined
}

/**
 * The image, also if it is only about to come without a pull: then when it is there. Undefined when it has to be
 * pulled.
 */
export async function presentImage(
  { images, moreImages }: ArrivingImages,
  name: string,
  signal?: AbortSignal,
): Promise<Image | undefined> {
  for (;;) {
    // Asked before the look, so that nothing comes unnoticed between the two.
    const more = moreImages?.()
    const image = await images.imageStatus(name)
    if (image !== undefined || more === undefined) return image
    await (signal === undefined ? more : unlessAborted(more, signal))
  }
}
