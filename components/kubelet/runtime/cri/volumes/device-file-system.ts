import { constants } from "node:fs"
import { rmdir } from "node:fs/promises"
import { withOpenFile } from "../../../../../pkg/files/owned-file.ts"
import { run } from "../../../../../pkg/process/run.ts"
import { errorMessage } from "../../../../../pkg/errors/error-message.ts"
import { unlessMissing } from "./missing.ts"

/**
 * File systems on block devices: made where there is none, checked, mounted and enlarged by the programs of the
 * machine. Source: mount_linux.go and resizefs_linux.go in k8s.io/mount-utils.
 */

export interface DeviceMount {
  readonly device: string
  /** An existing folder. */
  readonly folder: string
  /** The type of the file system, such as ext4, which is made if the device has none. */
  readonly fsType: string
  readonly options: readonly string[]
  /** Whether a device that has nothing gets a file system. */
  readonly mayFormat: boolean
}

/**
 * Mounts the file system of a device; makes one on a device that has nothing.
 * @throws Error when the device has something else, may get no file system, or has errors that fsck(8) cannot correct
 */
export async function mountDevice({ device, folder, fsType, options, mayFormat }: DeviceMount): Promise<void> {
  const found = await formatOf(device)
  try {
    if (found === undefined && !mayFormat)
      throw new Error(`cannot make a file system on ${device} while a pod uses it as a block device`)
    if (found === undefined) await format(device, fsType, options)
    else if (!options.includes("ro")) await check(device)
    await run("mount", ["-t", fsType, "-o", [...options, "defaults"].join(","), "--", device, folder])
  } catch (err) {
    await unlessMissing(rmdir(folder)).catch(() => undefined) // The first error says more.
    const before = found === undefined || found === fsType ? "" : `, which has ${found}`
    const message = errorMessage(err)
    throw new Error(
      `local: failed to mount device ${device}${before} at ${folder} (fstype: ${fsType}), error ${message}`,
      { cause: err },
    )
  }
}

/** Gives a mounted file system the size of its device. @throws Error for a type that cannot grow */
export async function growFileSystem(device: string, folder: string): Promise<void> {
  const found = await formatOf(device)
  if (found === "ext3" || found === "ext4") await run("resize2fs", [device])
  else if (found === "xfs") await run("xfs_growfs", ["-d", folder])
  else if (found === "btrfs") await run("btrfs", ["filesystem", "resize", "max", folder])
  else if (found !== undefined)
    throw new Error(`resize of format ${found} is not supported for device ${device} mounted at ${folder}`)
}

/**
 * Returns the type of the file system on a device, a text for a partition table, or undefined for an empty device.
 * @throws Error for a device that cannot be read
 */
async function formatOf(device: string): Promise<string | undefined> {
  const args = ["-p", "-s", "TYPE", "-s", "PTTYPE", "-o", "export", "--", device]
  const output = await run("blkid", args).catch(async (err: Error) => {
    if (exitCode(err) !== NOTHING_FOUND) throw err
    // Should it be a named pipe by now, the open would wait for ever.
    const flags = constants.O_RDONLY | constants.O_NONBLOCK
    await withOpenFile([device, flags], async (file) => {
      if (!(await file.stat()).isBlockDevice()) throw new Error(`${device} is no block device any more`)
      await file.fill(new Uint8Array(PROBED_BYTES), 0)
    })
    return ""
  })
  return /^PTTYPE=/m.test(output) ? "unknown data, probably partitions" : /^TYPE=(.*)$/m.exec(output)?.[1]
}

/** blkid(8) ends with this when a device has none of the tags, and also when it cannot be read: what is on it then? */
const NOTHING_FOUND = 2
/** File systems and tables of partitions begin within so many bytes. */
const PROBED_BYTES = 2 ** 20

async function format(device: string, fsType: string, options: readonly string[]): Promise<void> {
  if (options.includes("ro"))
    throw new Error(`cannot mount unformatted disk ${device} as we are manipulating it in read-only mode`)
  // A type is part of the name of a program.
  if (!/^[\w.-]+$/.test(fsType)) throw new Error(`${JSON.stringify(fsType)} is no type of file systems`)
  await run(`mkfs.${fsType}`, [...(MKFS_OPTIONS[fsType] ?? []), device])
}

/** No questions, and no blocks that only root may use. */
const MKFS_OPTIONS: Readonly<Record<string, readonly string[] | undefined>> = {
  ext3: ["-F", "-m0"],
  ext4: ["-F", "-m0"],
  xfs: ["-f"],
}

/** Corrects errors of a file system. @throws Error when errors are left; a machine without fsck(8) checks nothing */
async function check(device: string): Promise<void> {
  await run("fsck", ["-a", device]).catch((err: Error) => {
    if (exitCode(err) === ERRORS_LEFT)
      throw new Error(`'fsck' found errors on device ${device} but could not correct them: ${err.message}`)
  })
}

/** fsck(8) ends with this when it has left errors; with less if it has corrected them, with more if it did not run. */
const ERRORS_LEFT = 4

const exitCode = ({ cause }: Error): unknown => (cause as { readonly code?: unknown } | undefined)?.code
