import { createHash } from "node:crypto"
import { mkdir, readdir, readFile, readlink, rename, rm, symlink } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { run } from "../../../../../pkg/process/run.ts"
import { unlessMissing } from "./missing.ts"

/**
 * Loop devices, by which files are block devices (losetup(8)). A device that somebody else has attached to the same
 * file is used as well, since two devices of one file do not see each other's writes, but it is never detached.
 * Whether a device is ours is kept on disk, since it outlives the kubelet, and holds until the machine starts anew.
 */

/**
 * Returns the loop device of a file; attaches one if there is none.
 * @param root the folder of the kubelet
 * @param path an absolute path without links: the kernel knows the files of loop devices by these
 */
export async function attachLoop(root: string, path: string): Promise<string> {
  const [device] = await loopsOf(path)
  if (device !== undefined) return device
  const record = await recordOf(root, path)
  await forgetEarlierStarts(dirname(record))
  // Before the device: a kubelet that ends between the two finds the device by its file.
  await note(record, ANY)
  const made = (await run("losetup", ["--find", "--show", "--", path])).trim()
  await note(record, made)
  return made
}

/** Detaches the loop device that `attachLoop` has attached; does nothing where it had found one. */
export async function detachLoop(root: string, path: string): Promise<void> {
  const record = await recordOf(root, path)
  const own = await unlessMissing(readlink(record))
  if (own === undefined) return
  // The owner of the volume may have removed the file already.
  for (const device of await loopsOf(path, `${path} (deleted)`))
    if (own === ANY || own === device) await run("losetup", ["--detach", device])
  await rm(record, { force: true })
}

/** Gives the loop devices of a file the file's size. Source: losetup(8) --set-capacity. */
export async function growLoops(path: string): Promise<void> {
  for (const device of await loopsOf(path)) await run("losetup", ["--set-capacity", device])
}

/** Returns the path of the file that is behind a block device; undefined for one that is no loop device. */
export async function fileBehind(device: string): Promise<string | undefined> {
  return (await listed()).find(({ name }) => name === device)?.["back-file"] ?? undefined
}

/** What a record says until the name of the device is known. */
const ANY = "any"

/** Returns the path of the link that says which loop device of a file is ours, since the machine has started. */
async function recordOf(root: string, path: string): Promise<string> {
  const boot = (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim()
  const name = createHash("sha256").update(path).digest("hex")
  return join(root, "plugins/kubernetes.io/local-volume/loops", boot, name)
}

/** Removes the records of before the machine has started: none of those devices is there any more. */
async function forgetEarlierStarts(folder: string): Promise<void> {
  const [all, own] = [dirname(folder), basename(folder)]
  for (const boot of (await unlessMissing(readdir(all))) ?? [])
    if (boot !== own) await rm(join(all, boot), { recursive: true, force: true })
}

async function note(record: string, device: string): Promise<void> {
  await mkdir(dirname(record), { recursive: true, mode: 0o750 })
  await rm(`${record}.new`, { force: true })
  await symlink(device, `${record}.new`)
  await rename(`${record}.new`, record)
}

interface LoopDevices {
  readonly loopdevices: readonly { readonly name: string; readonly "back-file": string | null }[]
}

async function listed(): Promise<LoopDevices["loopdevices"]> {
  const output = await run("losetup", ["--list", "--json", "--output", "NAME,BACK-FILE"])
  // losetup prints nothing when there are no loop devices.
  return (JSON.parse(output.trim() || '{ "loopdevices": [] }') as LoopDevices).loopdevices
}

/** Returns the loop devices of files. `losetup` appends ` (deleted)` to the names of files that were removed. */
const loopsOf = async (...paths: readonly string[]): Promise<readonly string[]> =>
  (await listed()).filter((device) => paths.includes(device["back-file"] ?? "")).map(({ name }) => name)
