import { join } from "node:path"
import { readKernelFile } from "./kernel-files.ts"

/** Paths of block devices, by `major:minor`, as they are now. */
export type DeviceNames = () => Promise<ReadonlyMap<string, string>>

export const deviceNames =
  (proc: string): DeviceNames =>
  async () => {
    const text = await readKernelFile(join(proc, "partitions"))
    return new Map(
      [...text.matchAll(/^ *(\d+) +(\d+) +\d+ (\S+)$/gm)].map(([, major, minor, name]) => [
        `${major}:${minor}`,
        `/dev/${name}`,
      ]),
    )
  }
