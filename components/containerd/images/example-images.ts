import type { Clock } from "../../../pkg/clock/clock.ts"
import type { ImageService } from "../../../pkg/cri/service.ts"
import { embeddedFile } from "../../../pkg/runtime/embedded-file.ts"
import type { ContainerdPaths } from "../paths.ts"
import { shown } from "./archives.ts"
import { importImages } from "./images.ts"

/** The images of manifests/examples, which are part of the executable. `hack/images/images.ts` makes them. */
export const EXAMPLE_IMAGES: readonly string[] = ["k3ts.local/busybox:1", "k3ts.local/web:1", "k3ts.local/web:2"]

/** The name that `hack/build.sh` gives their archive. */
const ARCHIVE = "k3ts-examples.tar.zst"

/** Returns the archive of the example images, in zstd; undefined where this program is run from source. */
export const exampleImages = (): Promise<Uint8Array | undefined> => embeddedFile(ARCHIVE)

/**
 * Returns an image service that imports the example images from the executable at the first pull of one of them, so a
 * node without examples does no work for them. All other images, and these where the program is run from source, are
 * pulled from their registry.
 */
export function withExampleImages(
  images: ImageService,
  paths: ContainerdPaths,
  clock: Clock,
  read = exampleImages,
): ImageService {
  let running: Promise<readonly string[]> | undefined
  /**
   * Imports all example images. Callers that come meanwhile share the import. Returns the names of the images; none if
   * there is no archive.
   */
  const bring = async (): Promise<readonly string[]> => {
    const archive = await read()
    return archive === undefined ? [] : importImages([archive], paths)
  }
  return {
    ...images,
    async pullImage(spec, auth, sandboxConfig, options) {
      const { image } = spec
      if (image !== undefined && EXAMPLE_IMAGES.includes(image)) {
        running ??= bring().finally(() => (running = undefined))
        if ((await running).includes(image)) {
          await shown(images, clock, [image], options?.signal)
          return image
        }
      }
      return images.pullImage(spec, auth, sandboxConfig, options)
    },
  }
}
