import { beforeEach, describe, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { mountPoints, parseMountPoints } from "../../pkg/process/mount-points.ts"
import { run } from "../../pkg/process/run.ts"
import { errorMessage } from "../../pkg/errors/error-message.ts"
import { projectQuota, whyWithout, type QuotaHost } from "./project-quota.ts"

const ROOT = "/data/storage"
const EXT4 = "30 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,prjquota"
const XFS = "31 30 8:2 / /data rw,relatime - xfs /dev/sdb1 rw,attr2,prjquota"

let commands: string[]
/** Project numbers of folders, as the file system keeps them. */
let numbers: Map<string, number>
beforeEach(() => {
  commands = []
  numbers = new Map([["strange", 7]])
})
const host = (mountinfo: string, missing?: string): QuotaHost => ({
  mounts: async () => parseMountPoints(mountinfo),
  async run(program, args) {
    if (program === "sh") {
      if (args[1] === `command -v ${missing}`) throw new Error("not found")
      return ""
    }
    if (program === "lsattr")
      return [...numbers]
        .map(([name, id]) => `${String(id).padStart(10)} --------------e----P-- ${ROOT}/${name}`)
        .join("\n")
    commands.push([program, ...args].join(" "))
    if (program === "chattr") numbers.set(args.at(-1)!.slice(ROOT.length + 1), Number(args[1]))
    return ""
  },
})

describe("the size of a volume", () => {
  test.each([
    { title: "is enforced on XFS with project quota", mounts: `${EXT4}\n${XFS}`, wants: undefined },
    { title: "is enforced on ext4 with project quota", mounts: EXT4, wants: undefined },
    {
      title: "is not enforced without project quota",
      mounts: EXT4.replace(",prjquota", ""),
      wants: "/ (ext4) is mounted without prjquota",
    },
    {
      title: "is not enforced where only the file system around it has project quota",
      mounts: `${EXT4}\n${XFS.replace(",prjquota", ",noquota")}`,
      wants: "/data (xfs) is mounted without prjquota",
    },
    {
      title: "is not enforced on other file systems",
      mounts: "30 1 0:1 / / rw - btrfs /dev/sda1 rw",
      wants: "/ is of type btrfs, which has no project quota",
    },
    {
      title: "is not enforced without the program setquota",
      mounts: EXT4,
      missing: "setquota",
      wants: "the program setquota is missing: install quota",
    },
  ])("$title", async ({ mounts, missing, wants }) => {
    expect(await projectQuota(ROOT, host(mounts, missing)).lacking()).toBe(wants!)
  })

  test("becomes the quota of a project number that no other folder has", async () => {
    // given
    const quota = projectQuota(ROOT, host(`${EXT4}\n${XFS}`))
    // when two volumes are made at once
    await Promise.all([quota.limit(`${ROOT}/pvc-1`, 10 * 2 ** 20), quota.limit(`${ROOT}/pvc-2`, 1500)])
    // then
    expect(commands.toSorted()).toEqual([
      `chattr -p 1800000000 +P -- ${ROOT}/pvc-1`,
      `chattr -p 1800000001 +P -- ${ROOT}/pvc-2`,
      "setquota -P 1800000000 0 10240 0 0 /data",
      "setquota -P 1800000001 0 2 0 0 /data",
    ])
  })

  test("is set by the first mount point of its file system, although the folder is a mount itself", async () => {
    const itself = XFS.replace(" /data ", ` ${ROOT} `)
    await projectQuota(ROOT, host(`${EXT4}\n${XFS}\n${itself}`)).limit(`${ROOT}/pvc-1`, 1024)
    expect(commands.at(-1)).toBe("setquota -P 1800000000 0 1 0 0 /data")
  })

  test("that grows keeps its project number, and its quota is removed with its folder", async () => {
    // given
    numbers.set("pvc-1", 1_800_000_000).set("strange", 1_800_000_001)
    const quota = projectQuota(ROOT, host(EXT4))
    // when
    await quota.limit(`${ROOT}/pvc-1`, 2 ** 30)
    await quota.lift(`${ROOT}/pvc-1`)
    await quota.limit(`${ROOT}/pvc-3`, 1024)
    // then
    expect(commands).toEqual([
      "setquota -P 1800000000 0 1048576 0 0 /",
      "setquota -P 1800000000 0 0 0 0 /",
      `chattr -p 1800000002 +P -- ${ROOT}/pvc-3`,
      "setquota -P 1800000002 0 1 0 0 /",
    ])
  })

  test("of a folder without a quota is left alone", async () => {
    const quota = projectQuota(ROOT, host(EXT4))
    await quota.lift(`${ROOT}/strange`)
    await quota.lift(`${ROOT}/gone`)
    expect(commands).toEqual([])
  })

  test("is set only for folders of volumes", async () => {
    const quota = projectQuota(ROOT, host(EXT4))
    await expect(quota.limit("/etc", 1)).rejects.toThrow("/etc is not directly below /data/storage")
    await expect(quota.limit(`${ROOT}/a/b`, 1)).rejects.toThrow("is not directly below")
    expect(commands).toEqual([])
  })
})

/** File systems with project quota: how one is made in a file, and what a write beyond the limit is answered with. */
const FILE_SYSTEMS = [
  {
    type: "ext4",
    size: "64M",
    mkfs: ["mkfs.ext4", "-q", "-O", "quota,project", "-E", "quotatype=prjquota"],
    refusal: "Disk quota exceeded",
  },
  // The smallest that mkfs.xfs makes. XFS answers as if the disk were full.
  { type: "xfs", size: "320M", mkfs: ["mkfs.xfs", "-q"], refusal: "No space left on device" },
] as const
type FileSystem = (typeof FILE_SYSTEMS)[number]

/** The folder of a file system in a file, with project quota; the reason where there can be none. */
async function withQuota({
  size,
  mkfs,
}: FileSystem): Promise<{ readonly folder: string; end(): Promise<void> } | string> {
  if (process.getuid?.() !== 0) return "needs root"
  const base = mkdtempSync(join(tmpdir(), "k3ts-quota-"))
  const [image, folder] = [join(base, "image"), join(base, "folder")]
  mkdirSync(folder)
  const end = async () => {
    await run("umount", [folder]).catch(() => undefined)
    rmSync(base, { recursive: true, force: true })
  }
  try {
    const [program, ...options] = mkfs
    await run("truncate", ["-s", size, image])
    await run(program, [...options, image])
    await run("mount", ["-o", "loop,prjquota", image, folder])
    await run("sh", ["-c", "command -v setquota"])
    return { folder, end }
  } catch (err) {
    await end()
    return errorMessage(err).split("\n")[0]!
  }
}

const MIB = 2 ** 20

for (const fileSystem of FILE_SYSTEMS) {
  const { type, refusal } = fileSystem
  const real = await withQuota(fileSystem)
  if (typeof real === "string") console.warn(`!!! SKIPPED: project quota of ${type} (npm run test:vm has it): ${real}`)

  test.skipIf(typeof real === "string")(
    `${type} limits a volume to its size, and to its new size after it grows`,
    async () => {
      if (typeof real === "string") return
      try {
        // given two volumes of 1 MiB
        const [one, two] = [join(real.folder, "pvc-1"), join(real.folder, "pvc-2")]
        const quota = projectQuota(real.folder, { mounts: mountPoints, run })
        expect(await quota.lacking()).toBeUndefined()
        for (const folder of [one, two]) {
          mkdirSync(folder)
          await quota.limit(folder, MIB)
        }
        // as a container does, which lacks the capability by which root passes the limits of ext4
        const fill = (path: string, mebibytes: number) =>
          run("setpriv", [
            "--bounding-set=-sys_resource",
            ...["dd", "if=/dev/zero", `of=${path}`, "bs=64K", `count=${mebibytes * 16}`, "conv=fsync"],
          ])
        // when, then
        await fill(join(one, "half"), 0.5)
        mkdirSync(join(one, "below"))
        await expect(fill(join(one, "below/large"), 1)).rejects.toThrow(refusal)
        // the other volume, and what is no volume, have their own room
        await fill(join(two, "half"), 0.5)
        await fill(join(real.folder, "outside"), 4)
        // and when it grows
        await quota.limit(one, 4 * MIB)
        await fill(join(one, "below/large"), 2)
        // and when its folder is taken away
        await quota.lift(one)
        await fill(join(one, "huge"), 8)
      } finally {
        await real.end()
      }
    },
  )
}

test("the reason is given if the file system is not mounted", () => {
  expect(whyWithout(undefined)).toBe("its file system is not known")
})
