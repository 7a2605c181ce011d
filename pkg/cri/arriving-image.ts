import type { Image } from "./image.ts"
import { unlessAborted } from "../flow/unless-aborted.ts"
import type { ImageService } from "./service.ts"

/** The runtime's images, some of which may be imported instead of pulled. */
export interface ArrivingImages {
  readonly images: ImageService
  /** Resolves when an import has added images; undefined while no import is in progress. */
  readonly moreImages?: (() => Promise<void> | undefined) | undefined
}

/**
 * Returns the image if the runtime has it, or once an import in progress has added it. Undefined when it has to be
 * pulled.
 */
export async function presentImage(
  { images, moreImages }: ArrivingImages,
  name: string,
  signal?: AbortSignal,
): Promise<Image | undefined> {
  for (;;) {
    // Called before the look-up, so that an import that ends between the two is noticed.
    const more = moreImages?.()
    const image = await images.imageStatus(name)
    if (image !== undefined || more === undefined) return image
    await (signal === undefined ? more : unlessAborted(more, signal))
  }
}
