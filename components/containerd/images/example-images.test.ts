import { describe, expect, test } from "bun:test"
import { realClock } from "../../../pkg/clock/real.ts"
import type { ImageService } from "../../../pkg/cri/service.ts"
import { containerdPaths } from "../paths.ts"
import { EXAMPLE_IMAGES, exampleImages, withExampleImages } from "./example-images.ts"

describe("a pull", () => {
  const registry = { pullImage: async ({ image }) => `pulled ${image}` } as Partial<ImageService> as ImageService
  const paths = containerdPaths("/nonexistent", "/nonexistent")

  test("of any other image goes to its registry, and the archive is not read", async () => {
    const read = () => Promise.reject(new Error("the archive was read"))
    const { pullImage } = withExampleImages(registry, paths, realClock, read)
    expect(await pullImage({ image: "k3ts.local/other:1" })).toBe("pulled k3ts.local/other:1")
  })

  test("of an example image goes to a registry when the program runs from source", async () => {
    // given: tests run from source
    expect(await exampleImages()).toBeUndefined()
    const [image = ""] = EXAMPLE_IMAGES
    // then
    expect(await withExampleImages(registry, paths, realClock).pullImage({ image })).toBe(`pulled ${image}`)
  })

  test("of an example image that cannot be imported fails, and the next pull tries the import again", async () => {
    // given a node without containerd
    let reads = 0
    const [image = ""] = EXAMPLE_IMAGES
    const { pullImage } = withExampleImages(registry, paths, realClock, async () => {
      reads++
      return new Uint8Array()
    })
    // then
    await expect(pullImage({ image })).rejects.toThrow("ENOENT")
    await expect(pullImage({ image })).rejects.toThrow("ENOENT")
    expect(reads).toBe(2)
  })
})
