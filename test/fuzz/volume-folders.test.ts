/**
 * The user of a volume can put anything into it: links that lead outside, names of odd bytes, folders that are replaced
 * by links while they are removed, mounts. Nothing outside of the volumes' folder may be written, removed or shown.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { once } from "node:events"
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { bindSubPath } from "../../components/kubelet/runtime/cri/volumes/sub-path.ts"
import { unmountBelow } from "../../components/kubelet/runtime/cri/volumes/mounts.ts"
import { Folders } from "../../components/local-storage/folders.ts"
import { seededRandom, type Random } from "../../pkg/clock/random.ts"
import { run } from "../../pkg/process/run.ts"
import { between, chance, pick } from "../hunt/chance.ts"

const MAY_MOUNT = process.getuid?.() === 0
if (!MAY_MOUNT) console.warn("!!! SKIPPED: mounts in volumes: need root")
const SEED = Number(process.env["K3TS_SEED"] ?? 1)

let base: string
let root: string
let precious: string
let folders: Folders
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "k3ts-fuzz-"))
  root = join(base, "storage")
  precious = join(base, "precious")
  folders = new Folders(root)
  mkdirSync(join(precious, "deep/er"), { recursive: true })
  for (const path of ["file", "deep/file", "deep/er/file"]) writeFileSync(join(precious, path), path)
})
afterEach(async () => {
  if (MAY_MOUNT) await unmountBelow([base])
  rmSync(base, { recursive: true, force: true })
})

/** Returns everything below a folder: names, types, modes, contents. Links are not followed. */
function picture(folder: string): string[] {
  if (!lstatSync(folder).isDirectory()) return []
  return readdirSync(folder)
    .sort()
    .flatMap((name) => {
      const path = join(folder, name)
      const stats = lstatSync(path)
      const own = `${path} ${stats.mode.toString(8)} ${stats.uid}`
      if (stats.isDirectory()) return [own, ...picture(path)]
      return [stats.isFile() ? `${own} ${readFileSync(path, "latin1")}` : own]
    })
}

const NAMES = ["a", "b", "..x", " ", "-rf", "*", "a\nb", "ä", "storage", "file", "pvc-0", "\\040", "x".repeat(200)]

/** Fills a folder with files, folders, hard links and links to places inside and outside. */
function fill(folder: string, random: Random, depth = 0): void {
  for (let i = between(random, 1, 5); i > 0; i--) {
    const path = join(folder, pick(random, NAMES))
    if (existsSync(path) || lstatSync(path, { throwIfNoEntry: false }) !== undefined) continue
    if (depth < 3 && chance(random, 0.4)) {
      mkdirSync(path)
      fill(path, random, depth + 1)
    } else if (chance(random, 0.6)) symlinkSync(pick(random, targets()), path)
    else if (chance(random, 0.3)) linkSync(join(precious, "file"), path)
    else writeFileSync(path, "mine")
  }
}

const targets = (): string[] => [
  precious,
  join(precious, "deep"),
  "../../precious",
  "../../../precious/deep",
  "..",
  "/",
  ".",
  root,
  join(root, "pvc-1"),
  "nothing",
  "/proc/self/root",
]

/** Paths that are asked to be removed: of volumes, and of all that looks like one. */
const asked = (random: Random): string => {
  const volume = `pvc-${between(random, 0, 3)}`
  return pick(random, [
    join(root, volume),
    `${root}/${volume}/`,
    `${root}//${volume}`,
    `${root}/./${volume}`,
    `${root}/${volume}/..`,
    `${root}/${volume}/../../precious`,
    `${root}/../precious`,
    `${root}/../storage/${volume}`,
    `${root}/${volume}/a`,
    `${root}\0/${volume}`,
    `${root}/${volume}\n`,
    precious,
    root,
    base,
    "",
    ".",
    "..",
    "/",
    `--no-preserve-root`,
    `/proc/self/cwd/${volume}`,
  ])
}

describe("volumes with any content", () => {
  test("are removed completely, without a change elsewhere", async () => {
    const random = seededRandom(SEED)
    const before = picture(precious)
    for (let round = 0; round < 40; round++) {
      // given four volumes, some of which a user with rights on the host has replaced by something else
      for (let i = 0; i < 4; i++) {
        const path = join(root, `pvc-${i}`)
        if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) continue
        if (chance(random, 0.15)) {
          mkdirSync(root, { recursive: true })
          symlinkSync(pick(random, targets()), path)
        } else fill(await folders.create(`pvc-${i}`), random)
      }
      // when
      const path = asked(random)
      const others = () => readdirSync(root).filter((name) => join(root, name) !== path)
      const kept = others().sort()
      const pictures = kept.map((name) => picture(join(root, name)))
      const wasFolder = lstatSync(path.replaceAll("\0", ""), { throwIfNoEntry: false })?.isDirectory() === true
      const [outcome] = await Promise.allSettled([folders.remove(path)])
      // then
      expect(picture(precious)).toEqual(before)
      expect(others().sort()).toEqual(kept)
      expect(kept.map((name) => picture(join(root, name)))).toEqual(pictures)
      const isVolume = /^pvc-\d\n?$/.test(path.slice(root.length + 1)) && path.startsWith(`${root}/`)
      if (isVolume && wasFolder) expect({ path, outcome, there: existsSync(path) }).toMatchObject({ there: false })
      else if (!isVolume) expect({ path, status: outcome?.status }).toEqual({ path, status: "rejected" })
      for (const name of readdirSync(root)) if (lstatSync(join(root, name)).isSymbolicLink()) rmSync(join(root, name))
    }
  }, 30_000)

  test("cannot have a name that leads outside", async () => {
    const random = seededRandom(SEED)
    const before = picture(base)
    const parts = ["..", ".", "/", "\0", "a", "precious", "", "%2e%2e", "\\", "~", "\n"]
    for (let i = 0; i < 300; i++) {
      const name = Array.from({ length: between(random, 1, 4) }, () => pick(random, parts)).join("")
      const [outcome] = await Promise.allSettled([folders.create(name)])
      if (outcome?.status === "fulfilled") {
        expect(realpathSync(outcome.value)).toBe(join(root, name))
        await folders.remove(outcome.value)
      }
    }
    expect(picture(base).filter((line) => !line.startsWith(root))).toEqual(before)
    expect(readdirSync(root)).toEqual([])
  }, 30_000)

  test("are removed while a pod replaces their folders by links", async () => {
    const before = picture(precious)
    for (let round = 0; round < 5; round++) {
      // given a volume in which a program replaces a folder by a link and back, as fast as it can
      const path = await folders.create("pvc-1")
      for (let i = 0; i < 50; i++) mkdirSync(join(path, `f${i}/deep/er`), { recursive: true })
      const script = `cd '${path}'; while :; do for f in f*; do mv "$f" "$f.old" && ln -s '${precious}' "$f"; rm "$f"; mv "$f.old" "$f"; done; done`
      const pod = spawn("sh", ["-c", script], { stdio: "ignore" })
      // when
      await Promise.allSettled([folders.remove(path)])
      pod.kill("SIGKILL")
      await once(pod, "exit")
      await folders.remove(path)
      // then
      expect(existsSync(path)).toBe(false)
      expect(picture(precious)).toEqual(before)
    }
  }, 30_000)

  test.skipIf(!MAY_MOUNT)(
    "are not removed while something is mounted anywhere below them",
    async () => {
      const random = seededRandom(SEED)
      const before = picture(precious)
      for (let round = 0; round < 10; round++) {
        const path = await folders.create("pvc-1")
        fill(path, random)
        const inside = join(path, pick(random, ["m", "m/n", "a b/c", "m\nn", "m\\040n"]))
        mkdirSync(inside, { recursive: true })
        await run("mount", chance(random, 0.5) ? ["--bind", precious, inside] : ["-t", "tmpfs", "none", inside])
        await expect(folders.remove(path)).rejects.toThrow("is mounted: unmount it")
        expect(picture(precious)).toEqual(before)
        await run("umount", [inside])
        await folders.remove(path)
        expect(existsSync(path)).toBe(false)
      }
      expect(picture(precious)).toEqual(before)
    },
    30_000,
  )

  test("can be neither listed nor read by users of the host that are not root", async () => {
    await folders.create("pvc-1_default_data")
    // The names contain the uid of the claim, which cannot be guessed.
    expect(statSync(root).mode & 0o077).toBe(0o001)
  })
})

describe("a subPath", () => {
  test.skipIf(!MAY_MOUNT)(
    "shows a container nothing outside of the volume, whatever links the volume has",
    async () => {
      const random = seededRandom(SEED)
      const before = picture(precious)
      const words = [...NAMES.slice(0, 6), "a/a", "a/b", "b/a", "a/../a", "deep", "deep/er", "file"]
      let shown = 0
      for (let round = 0; round < 150; round++) {
        const volume = await folders.create(`pvc-${round % 3}`)
        if (round % 3 === round) fill(volume, random)
        const subPath = Array.from({ length: between(random, 1, 3) }, () => pick(random, words)).join("/")
        const target = join(base, `target-${round}`)
        const [outcome] = await Promise.allSettled([bindSubPath({ volume, subPath, target })])
        if (outcome?.status === "fulfilled") {
          shown++
          const [is, inside] = [statSync(target), realpathSync(join(volume, subPath))]
          expect({ subPath, ino: is.ino }).toEqual({ subPath, ino: statSync(inside).ino })
          expect(inside === volume || inside.startsWith(`${volume}/`)).toBe(true)
          await run("umount", [target])
        }
      }
      expect(shown).toBeGreaterThan(20)
      expect(picture(precious)).toEqual(before)
    },
    30_000,
  )
})
