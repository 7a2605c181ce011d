/**
 * Servers that share a store have to read what each of them writes. What they encrypt with is compared through the
 * store: fingerprints of keys, in the order in which a configuration names them. A configuration is taken where it
 * reads what that of the others writes, and the other way round; so keys change in steps, as Kubernetes describes for
 * several API servers: first every server reads the new key, then it writes with it, then the old one goes.
 */
import { createHash } from "node:crypto"
import { z } from "zod"
import type { Cell } from "../../../pkg/cell/cell.ts"
import { groupResourceOf, parseEncryptionConfiguration, type ProviderEntry } from "./configuration.ts"

/** Its key in the store, below no prefix that the API serves. */
export const ENCRYPTION_KEY = "/bootstrap/k3ts-encryption"

/** By kind, as a configuration names it: what reads its values. The first one writes them. */
const Readers = z.record(z.string(), z.array(z.string()))
export type Readers = Readonly<Record<string, readonly string[]>>

const PLAIN = "identity"
/** Servers that start together may each write their own. */
const ATTEMPTS = 20

/** Returns what a configuration reads and writes with; undefined stands for none. @throws Error that names the file */
export function readersOf(text: string | undefined, file: string): Readers {
  const readers: Record<string, string[]> = {}
  if (text === undefined) return readers
  for (const { resources, providers } of parseEncryptionConfiguration(text, file).resources)
    for (const name of resources) readers[name] = [...(readers[name] ?? []), ...providers.flatMap(fingerprintsOf)]
  return readers
}

function fingerprintsOf({ aesgcm, aescbc, secretbox, kms }: ProviderEntry): readonly string[] {
  if (kms !== undefined) return [`kms:${kms.name}`]
  for (const [provider, keyed] of Object.entries({ aesgcm, aescbc, secretbox }))
    if (keyed !== undefined) return keyed.keys.map(({ name, secret }) => `${provider}:${name}:${digestOf(secret)}`)
  return [PLAIN]
}

/** Keys have at least 128 bits of chance, so nobody finds one by its digest. */
const digestOf = (secret: string): string => createHash("sha256").update(secret).digest("hex").slice(0, 16)

/**
 * Compares this server's configuration with that of the others, and makes it theirs if each reads what the other
 * writes.
 * @throws Error that names a kind and the mend; what the cell throws
 */
export async function agreeOnEncryption(cell: Cell, own: Readers): Promise<void> {
  for (let tries = 0; tries < ATTEMPTS; tries++) {
    const stored = await cell.read()
    const text = JSON.stringify(own)
    const known = stored && new TextDecoder().decode(stored.value)
    if (known === text) return
    if (known !== undefined) refuseDiffering(own, Readers.parse(JSON.parse(known)))
    if (await cell.write(new TextEncoder().encode(text), stored?.revision ?? 0)) return
  }
  throw new Error("Cannot compare the encryption configuration with that of other servers: they change it all the time")
}

function refuseDiffering(own: Readers, theirs: Readers): void {
  for (const kind of new Set([...Object.keys(own), ...Object.keys(theirs)])) {
    const [here, there] = [readersFor(own, kind), readersFor(theirs, kind)]
    const [reader, writer] = !here.includes(there[0]!)
      ? ["This server", "the other servers write"]
      : !there.includes(here[0]!)
        ? ["The other servers", "this one writes"]
        : []
    if (reader !== undefined)
      throw new Error(
        `${reader} could not read the ${kind} that ${writer}: --encryption-provider-config here differs from that of ` +
          "the servers that share the store. Give all the same file. To change it, add a new key behind the first one " +
          "at every server, then make it the first one at every server, then remove the old one; `identity` stands for " +
          "no key",
      )
  }
}

/** Returns what reads a kind: what its own rule names, or that of its group, or that of all. */
function readersFor(readers: Readers, kind: string): readonly string[] {
  const { group } = groupResourceOf(kind)
  return readers[kind] ?? readers[`*.${group}`] ?? readers["*.*"] ?? [PLAIN]
}
