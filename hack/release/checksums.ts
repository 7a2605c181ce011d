import { createHash } from "node:crypto"
import { createReadStream } from "node:fs"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { pipeline } from "node:stream/promises"

export const CHECKSUMS = "SHA256SUMS"

/** Writes SHA256SUMS of files in a folder, as `sha256sum --check` reads it, in the order of their names. */
export async function writeChecksums(folder: string, files: readonly string[]): Promise<void> {
  const lines: string[] = []
  for (const file of [...files].sort()) lines.push(`${await sha256(join(folder, file))}  ${file}\n`)
  await writeFile(join(folder, CHECKSUMS), lines.join(""))
}

async function sha256(path: string): Promise<string> {
  const hash = createHash("sha256")
  await pipeline(createReadStream(path), hash)
  return hash.digest("hex")
}
