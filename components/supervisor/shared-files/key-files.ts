/** The files below `<data-dir>/server` that are the same on all servers of a cluster: CAs and keys. */
import { Buffer } from "node:buffer"
import { mkdirSync } from "node:fs"
import { dirname, join } from "node:path"
import type { Random } from "../../../pkg/clock/random.ts"
import { readIfExists, replaceFile } from "../../../pkg/files/files.ts"
import { signingKey } from "../../../pkg/jwt/signing-key.ts"
import { belongTogether, newPrivateKey } from "../../../pkg/pki/certificate.ts"
import { AUTHORITIES, openClusterPki } from "../../../pkg/pki/cluster-pki.ts"

const SERVICE_KEY = "tls/service.key"
const ADMIN_TOKEN = "token"
const keyFile = (authority: string) => `tls/${authority}.key`
const certificateFile = (authority: string) => `tls/${authority}.crt`

/**
 * The paths, in the order in which they are written: each key before its certificate, so that no certificate is ever
 * without its key.
 */
export const KEY_FILES: readonly string[] = [
  ...AUTHORITIES.flatMap((name) => [keyFile(name), certificateFile(name)]),
  SERVICE_KEY,
  ADMIN_TOKEN,
]

/** The texts of the files, by their paths in KEY_FILES. */
export type KeyFiles = Readonly<Record<string, string>>

/** Returns the texts of the files that exist below `dir`. */
export const ownKeyFiles = (dir: string): KeyFiles =>
  Object.fromEntries(
    KEY_FILES.flatMap((name) => {
      const text = readIfExists(join(dir, name))
      return text === undefined ? [] : [[name, text]]
    }),
  )

/**
 * Returns all files of a cluster: those of `own`, and new ones for those that are missing. Writes nothing. @throws
 * Error that names a file which the other servers could not use
 */
export function completeKeyFiles(own: KeyFiles, now: () => number, random: Random): KeyFiles {
  const { authorities } = openClusterPki({ now })
  const all: Record<string, string> = {
    [SERVICE_KEY]: newPrivateKey(),
    [ADMIN_TOKEN]: `${Buffer.from(random.bytes(24)).toString("base64url")}\n`,
  }
  for (const name of AUTHORITIES) {
    const found = [keyFile(name), certificateFile(name)].filter((file) => own[file] !== undefined)
    if (found.length === 1)
      throw new Error(`Cannot share ${found[0]}: the other file of ${name} is missing. Restore it, or remove this one`)
    all[keyFile(name)] = authorities[name].keyPem
    all[certificateFile(name)] = authorities[name].certPem
  }
  Object.assign(all, own)
  for (const name of AUTHORITIES)
    if (!belongTogether({ keyPem: all[keyFile(name)]!, certPem: all[certificateFile(name)]! }))
      throw new Error(`Cannot share the authority ${name}: ${name}.crt and ${name}.key do not belong together`)
  try {
    signingKey(all[SERVICE_KEY]!)
  } catch (err) {
    throw new Error(`Cannot share ${SERVICE_KEY}: it holds no private key by which tokens are signed`, { cause: err })
  }
  return all
}

/**
 * Returns the names of the files that differ from those of `shared`. A certificate that differs while its key is the
 * same is not among them: it has been renewed, which each server does for itself.
 */
export const differingKeyFiles = (own: KeyFiles, shared: KeyFiles): readonly string[] =>
  KEY_FILES.filter((name) => {
    if (own[name] === undefined || own[name].trim() === shared[name]?.trim()) return false
    const key = name.endsWith(".crt") ? name.replace(/crt$/, "key") : undefined
    return key === undefined || own[key] !== shared[key]
  })

/** Writes the files that are missing. They survive a power cut. */
export function writeMissingKeyFiles(dir: string, own: KeyFiles, shared: KeyFiles): void {
  for (const name of KEY_FILES) {
    const text = shared[name]
    if (own[name] !== undefined || text === undefined) continue
    const path = join(dir, name)
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    replaceFile(path, text, { mode: name.endsWith(".crt") ? 0o644 : 0o600, sync: true })
  }
}
