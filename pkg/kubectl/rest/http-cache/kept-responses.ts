import { createHash } from "node:crypto"
import { join } from "node:path"
import type { Random } from "../../../clock/random.ts"
import type { Files } from "../../environment/files.ts"

/** The length of the checksum before the bytes of a file. */
const SUM_BYTES = 32
/** More is not kept. Differs from upstream: it never removes a file. */
const MOST_BYTES = 128 * 1024 * 1024

const sha256 = (data: string | Uint8Array): Buffer => createHash("sha256").update(data).digest()

/**
 * Responses on disk by their addresses, in files that upstream's kubectl reads and writes too: the name is the SHA-256
 * of the address, and the response stands behind its own SHA-256. A file that is damaged counts as missing. Source:
 * client-go discovery/cached/disk/round_tripper.go.
 */
export class KeptResponses {
  readonly #folder: string
  readonly #files: Files
  readonly #random: Pick<Random, "next">

  constructor(parts: { readonly folder: string; readonly files: Files; readonly random: Pick<Random, "next"> }) {
    this.#folder = parts.folder
    this.#files = parts.files
    this.#random = parts.random
  }

  /** The response of an address, as it was written; undefined when none is kept. */
  async read(address: string): Promise<Uint8Array | undefined> {
    try {
      const bytes = await this.#files.read(this.#path(address))
      const response = bytes.subarray(SUM_BYTES)
      return sha256(response).equals(bytes.subarray(0, SUM_BYTES)) ? response : undefined
    } catch {
      return undefined
    }
  }

  /** Written aside and moved, since several runs may write at once. What cannot be written is not kept. */
  async write(address: string, response: Uint8Array): Promise<void> {
    const path = this.#path(address)
    const asides = join(this.#folder, ".diskv-temp")
    const aside = join(asides, String(Math.floor(this.#random.next() * 1e10)))
    try {
      const isNew = (await this.#files.stat(path)) === undefined
      await this.#files.mkdir(asides, { recursive: true, mode: 0o750 })
      await this.#files.write(aside, Buffer.concat([sha256(response), response]))
      await this.#files.chmod(aside, 0o660)
      await this.#files.rename(aside, path)
      if (isNew) await this.#removeOldest()
    } catch {
      await this.#files.remove(aside).catch(() => undefined)
    }
  }

  async remove(address: string): Promise<void> {
    await this.#files.remove(this.#path(address)).catch(() => undefined)
  }

  #path(address: string): string {
    return join(this.#folder, sha256(address).toString("hex"))
  }

  /** Removes the files that were written longest ago, until the rest fits. */
  async #removeOldest(): Promise<void> {
    const names = await this.#files.list(this.#folder)
    const found = await Promise.all(
      names.map(async (name) => {
        const path = join(this.#folder, name)
        const stat = await this.#files.stat(path)
        return stat?.isFile === true ? [{ path, size: stat.size, modified: stat.modified }] : []
      }),
    )
    let total = 0
    for (const { path, size } of found.flat().sort((a, b) => b.modified - a.modified)) {
      total += size
      if (total > MOST_BYTES) await this.#files.remove(path).catch(() => undefined)
    }
  }
}
