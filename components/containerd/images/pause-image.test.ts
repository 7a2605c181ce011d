import { expect, test } from "bun:test"
import type { Image } from "../../../pkg/cri/image.ts"
import type { ImageService, RuntimeService } from "../../../pkg/cri/service.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { containerdPaths } from "../paths.ts"
import { OwnPauseImage } from "./own-pause-image.ts"
import { PAUSE_IMAGE } from "./pause-image.ts"
import { withPinnedImage } from "./pinned-image.ts"

const image = (id: string, repoTags: readonly string[], repoDigests: readonly string[] = []): Image => ({
  id,
  repoTags,
  repoDigests,
  size: 1,
  username: "",
  pinned: false,
})

test.each([
  { title: "the own one", name: PAUSE_IMAGE, tags: [PAUSE_IMAGE], digests: [] },
  { title: "another one", name: "pause:3", tags: ["docker.io/library/pause:3"], digests: [] },
  { title: "one with a digest", name: "r.io/p@sha256:1", tags: [], digests: ["r.io/p@sha256:1"] },
])("the image of sandboxes is shown as pinned, so that it is not removed to free space: $title", async (of) => {
  // given a containerd that does not pin it
  const listImages = async () => [image("other", ["web:1"]), image("pause", of.tags, of.digests)]
  const images = withPinnedImage({ listImages } as unknown as ImageService, of.name)
  // then
  expect((await images.listImages()).map(({ id, pinned }) => [id, pinned])).toEqual([
    ["other", false],
    ["pause", true],
  ])
})

test("the image of sandboxes is looked for again after a sandbox could not be made", async () => {
  // given a containerd that has the image
  let looks = 0
  let isThere = true
  const images = { imageStatus: async () => (looks++, image("pause", [PAUSE_IMAGE])) } as unknown as ImageService
  const paths = containerdPaths("/nonexistent", "/nonexistent")
  const own = new OwnPauseImage({ paths, images, clock: realClock, signal: () => new AbortController().signal })
  const runtime = own.before({
    runPodSandbox: async () => {
      if (!isThere) throw new Error("failed to get sandbox image")
      return "sandbox"
    },
  } as unknown as RuntimeService)
  const run = () => runtime.runPodSandbox({}, undefined as never)
  await run()
  await run()
  expect(looks).toBe(1)
  // when somebody removes the image
  isThere = false
  await expect(run()).rejects.toThrow("failed to get sandbox image")
  // then the next sandbox looks for it
  isThere = true
  expect(await run()).toBe("sandbox")
  expect(looks).toBe(2)
})
