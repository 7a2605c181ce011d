/** Certificate pairs on disk: `<name>.crt` (0644) beside `<name>.key` (0600).
 *
 *  Invariant: a file is replaced whole (written aside, then renamed) and the key goes first. So a kill at any moment leaves either a matching pair
 *  or a key whose certificate is missing or belongs to the key before; the next start sees that and certifies the key it finds. */
import {
  chmodSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs"
import { dirname, join } from "node:path"
import type { CertificatePair } from "./certificate.ts"

/** The content of a file, or undefined when it does not exist. Any other failure is thrown. */
export function readIfExists(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8")
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw err
  }
}

/** Replaces `path` with `content` so that a reader sees the old or the new file and never a part. With `sync` it also survives a power cut. */
export function replaceFile(
  path: string,
  content: string,
  { mode, sync = false }: { mode: number; sync?: boolean },
): void {
  const aside = `${path}.tmp`
  rmSync(aside, { force: true }) // what a killed run left may have another mode
  const fd = openSync(aside, "wx", mode)
  try {
    writeSync(fd, content)
    if (sync) fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  chmodSync(aside, mode) // whatever the umask
  renameSync(aside, path)
}

export interface FoundPair {
  readonly certPem: string | undefined
  readonly keyPem: string | undefined
}

/** What there is of the pair `name`: both, one or none of its files. */
export function readPair(dir: string, name: string): FoundPair {
  return { certPem: readIfExists(join(dir, `${name}.crt`)), keyPem: readIfExists(join(dir, `${name}.key`)) }
}

/** Writes the key, then the certificate. `sync` for what cannot be made again: authorities. */
export function writePair(
  dir: string,
  name: string,
  pair: CertificatePair,
  { sync = false }: { sync?: boolean } = {},
): void {
  const path = join(dir, name)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  replaceFile(`${path}.key`, pair.keyPem, { mode: 0o600, sync })
  replaceFile(`${path}.crt`, pair.certPem, { mode: 0o644, sync })
}
