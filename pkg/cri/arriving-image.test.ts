import { describe, expect, test } from "bun:test"
import type { Image } from "./image.ts"
import type { ImageService } from "./service.ts"
import { presentImage } from "./arriving-image.ts"

/** Images that are imported one after the other, each at a call of `arrive`. */
function arriving(...coming: string[]) {
  const there = new Set<string>()
  let next: PromiseWithResolvers<void> | undefined = Promise.withResolvers()
  const images = {
    imageStatus: async (name: string) => (there.has(name) ? ({ id: name } as Image) : undefined),
  } as unknown as ImageService
  return {
    runtime: { images, moreImages: () => next?.promise },
    arrive() {
      there.add(coming.shift()!)
      const arrived = next
      next = coming.length > 0 ? Promise.withResolvers() : undefined
      arrived?.resolve()
    },
  }
}

describe("an image", () => {
  test("that is being imported is waited for, and no longer than until it is present", async () => {
    const { runtime, arrive } = arriving("other", "wanted", "later")
    let found: Image | undefined
    const waiting = presentImage(runtime, "wanted").then((image) => (found = image))
    arrive()
    await new Promise(setImmediate)
    expect(found).toBeUndefined()
    arrive()
    expect((await waiting)?.id).toBe("wanted")
  })

  test("that is not among the imported ones is reported missing after all imports", async () => {
    const { runtime, arrive } = arriving("other")
    const waiting = presentImage(runtime, "wanted")
    arrive()
    expect(await waiting).toBeUndefined()
  })

  test("is not waited for if no import runs, or if the caller cancels", async () => {
    expect(await presentImage({ images: arriving().runtime.images }, "wanted")).toBeUndefined()
    const gone = new AbortController()
    const waiting = presentImage(arriving("wanted").runtime, "wanted", gone.signal)
    gone.abort(new Error("the pod is deleted"))
    await expect(waiting).rejects.toThrow("the pod is deleted")
  })
})
