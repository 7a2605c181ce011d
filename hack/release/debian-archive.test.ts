import { expect, test } from "bun:test"
import { createHash } from "node:crypto"
import { checkDigest } from "./debian-archive.ts"

test("a Debian package is accepted only with the known digest, for each architecture", () => {
  // given a package of which those for amd64 are at hand
  const deb = new TextEncoder().encode("the package for amd64")
  const sha256 = { amd64: createHash("sha256").update(deb).digest("hex"), arm64: "0".repeat(64) }
  const pinned = { name: "busybox-static", version: "1.0-1", sha256 }
  // then
  expect(() => checkDigest(pinned, "amd64", deb)).not.toThrow()
  expect(() => checkDigest(pinned, "arm64", deb)).toThrow(
    `busybox-static 1.0-1 for arm64 has the SHA-256 ${sha256.amd64}, expected ${sha256.arm64}`,
  )
})
