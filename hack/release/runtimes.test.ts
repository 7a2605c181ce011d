import { describe, expect, test } from "bun:test"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { ARCHITECTURES } from "./architectures.ts"
import { checkIntegrity, runtimePackage } from "./runtimes.ts"

const root = join(import.meta.dir, "../..")
const lockFile = await readFile(join(root, "package-lock.json"), "utf8")

describe("the runtimes of a release", () => {
  test("have the version of Bun that package.json names, for every processor", async () => {
    const { dependencies } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as {
      dependencies: { bun: string }
    }
    for (const architecture of ARCHITECTURES)
      expect(runtimePackage(lockFile, architecture).version).toBe(dependencies.bun)
  })

  test("are refused if the lock file has no digest for them", () => {
    const lock = JSON.stringify({ packages: { "node_modules/@oven/bun-linux-x64": { version: "1.4.4" } } })
    expect(() => runtimePackage(lock, "amd64")).toThrow(
      "package-lock.json: expected @oven/bun-linux-x64 with its version and a sha512",
    )
  })

  test("are refused if their digest is not that of the lock file", () => {
    const locked = runtimePackage(lockFile, "arm64")
    expect(() => checkIntegrity(locked, new TextEncoder().encode("another archive"))).toThrow(
      `but package-lock.json says ${locked.integrity}`,
    )
  })
})
