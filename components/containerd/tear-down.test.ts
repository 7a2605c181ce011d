import { expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { run } from "../../pkg/process/run.ts"
import { removeUnmounted, unmountBelow } from "./tear-down.ts"

const isRoot = process.getuid?.() === 0
if (!isRoot) console.warn("SKIPPED: removal of folders with mounts: needs root")

test.skipIf(!isRoot)("a folder below a link is not removed while something is mounted in it", async () => {
  // given a volume that is mounted in a data directory which is a link
  const base = mkdtempSync(join(tmpdir(), "k3ts-tear-down-"))
  const [disk, data, volume] = [join(base, "disk"), join(base, "data"), join(base, "volume")]
  mkdirSync(join(disk, "kubelet/mount"), { recursive: true })
  mkdirSync(volume)
  writeFileSync(join(volume, "file"), "kept")
  symlinkSync(disk, data)
  const folder = join(data, "kubelet")
  try {
    await run("mount", ["--bind", volume, join(disk, "kubelet/mount")])
    // when
    await expect(removeUnmounted(folder)).rejects.toThrow("still mounted")
    await unmountBelow([folder])
    await removeUnmounted(folder)
    // then
    expect(readFileSync(join(volume, "file"), "utf8")).toBe("kept")
  } finally {
    await unmountBelow([disk])
    rmSync(base, { recursive: true, force: true })
  }
})
