import { Buffer } from "node:buffer"

/**
 * How many bytes the volumes of one pod may show of ConfigMaps, Secrets and its own fields. Differs from upstream,
 * which has no limit: a pod of a few kilobytes can show one object of 1 MiB under many thousand paths, and all pods of
 * the node share one tmpfs.
 */
export const MAX_PAYLOAD_BYTES = 64 * 1024 * 1024

/** Counts the bytes of files while they are made, and refuses more than a pod may have. */
export class PayloadBudget {
  #taken = 0
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  get taken(): number {
    return this.#taken
  }

  take(content: string | Uint8Array): void {
    this.#taken += typeof content === "string" ? Buffer.byteLength(content) : content.length
    if (this.#taken > this.#most)
      throw new Error(
        `the pod's volumes have more than ${MAX_PAYLOAD_BYTES} bytes of ConfigMaps, Secrets and fields of the pod: ` +
          `list fewer items, or use a persistent volume`,
      )
  }
}

/** While no volume of a pod has so many bytes, none is counted: there are very many pods. */
const LARGE_BYTES = 4096

/** How many bytes of the API each volume of a pod shows. */
export class VolumeBytes {
  readonly #bytes = new Map<string, number>()
  #total = 0

  /** Returns how much all but this volume have. */
  beside(volume: string): number {
    return this.#total - (this.#bytes.get(volume) ?? 0)
  }

  note(volume: string, bytes: number): void {
    this.#total = this.beside(volume) + bytes
    this.#bytes.set(volume, bytes)
  }
}

export const isLarge = (bytes: number): boolean => bytes >= LARGE_BYTES
