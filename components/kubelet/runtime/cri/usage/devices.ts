import { join } from "node:path"
import { readKernelFile } from "./kernel-files.ts"

/** Returns the current paths of block devices, by `major:minor`. */
export type DeviceNames = () => Promise<ReadonlyMap<string, string>>

/** Reads the names of devices below `proc`. Concurrent calls share one read. */
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
