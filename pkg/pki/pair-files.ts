/**
 * Certificate pairs on disk: `<name>.crt` (0644) beside `<name>.key` (0600).
 *
 * Invariant: a file is replaced whole (written under another name, then renamed) and the key goes first. So a kill at
 * any moment leaves either a matching pair or a key whose certificate is missing or belongs to the previous key; the
 * next start detects that and certifies the key it finds.
 */
import { mkdirSync } from "node:fs"
import { dirname, join } from "node:path"
import { readIfExists, replaceFile } from "../files/files.ts"
import type { CertificatePair } from "./certificate.ts"

export interface FoundPair {
  readonly certPem: string | undefined
  readonly keyPem: string | undefined
}

/** Reads the pair `name`: both files, one or none. */
export function readPair(dir: string, name: string): FoundPair {
  return { certPem: readIfExists(join(dir, `${name}.crt`)), keyPem: readIfExists(join(dir, `${name}.key`)) }
}

/** Writes the key, then the certificate. `sync` is for pairs that cannot be made again: authorities. */
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
