import { existsSync, statfsSync } from "node:fs"
import { dirname } from "node:path"

/** The size of the history unless a flag says otherwise, in bytes, and the most of a disk that it takes. */
const USUAL_BYTES = 512 * 2 ** 20
const MOST_OF_DISK = 1 / 20

/** Returns how large the history of a data directory may become where no flag says so, in bytes. */
export function usualHistoryBytes(dataDir: string): number {
  const { blocks, bsize } = statfsSync(nearestExisting(dataDir))
  return Math.min(USUAL_BYTES, Math.floor(blocks * bsize * MOST_OF_DISK))
}

/** Returns the folder, or the nearest existing folder above it. */
export const nearestExisting = (path: string): string =>
  existsSync(path) || path === "/" || path === "." ? path : nearestExisting(dirname(path))
