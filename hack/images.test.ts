import { describe, expect, test } from "bun:test"
import { existsSync } from "node:fs"
import { buildImage } from "../pkg/oci/image.ts"
import { busyboxImage, webImage } from "./images.ts"

const hasBusybox = existsSync("/bin/busybox")
if (!hasBusybox) console.warn("SKIPPED: the images are made of /bin/busybox, which is missing; run hack/setup.sh")

describe.skipIf(!hasBusybox)("the images of the examples and tests", () => {
  test("have a shell and the commands that kubectl exec and cp need", () => {
    const paths = busyboxImage().layers.flatMap(({ files }) => files.map(({ path }) => path))
    expect(paths).toEqual(expect.arrayContaining(["bin/busybox", "bin/sh", "bin/tar", "usr/bin/wget", "tmp"]))
  })

  test("share the layer with busybox, and differ from version to version", () => {
    // given the images
    const [busybox, first, second] = [busyboxImage(), webImage("1"), webImage("2")].map(buildImage)

    // then the big layer is one
    expect(first!.layers[0]!.digest).toBe(busybox!.layers[0]!.digest)
    expect(second!.layers[0]!.digest).toBe(busybox!.layers[0]!.digest)
    // and a rolling update from one version to the next changes the image
    expect(second!.manifest.digest).not.toBe(first!.manifest.digest)
  })
})
