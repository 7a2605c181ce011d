import type { Image } from "../../../pkg/cri/image.ts"
import type { ContainerRuntime } from "../runtime/runtime.ts"
import { unlessAborted } from "../unless-aborted.ts"

/**
 * The image, also if it is only about to come without a pull: then when it is there. Undefined when it has to be
 * pulled.
 */
export async function presentImage(
  { images, moreImages }: Pick<ContainerRuntime, "images" | "moreImages">,
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
