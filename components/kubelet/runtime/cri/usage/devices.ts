import { join } from "node:path"
import { readKernelFile } from "./kernel-files.ts"

/** Paths of block devices, by `major:minor`, as they are now. */
export type DeviceNames = () => Promise<ReadonlyMap<string, string>>

/** Whoever asks while they are being read is given the same. */
export function deviceNames(proc: string): DeviceNames {
  let reading: ReturnType<DeviceNames> | undefined
  const read = async () => {
    const text = await readKernelFile(join(proc, "partitions"))
    reading = undefined
    return new Map(
      [...text.matchAll(/^ *(\d+) +(\d+) +\d+ (\S+)$/gm)].map(([, major, minor, name]) => [
        `${major}:${minor}`,
        `/dev/${name}`,
      ]),
    )
  }
  return () => (reading ??= read())
}
