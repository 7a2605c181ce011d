import { FairShare } from "../../pkg/flow/fair-share.ts"

/** The longest head of a request that takes nothing of what there is for long heads, in bytes. */
export const PLAIN_HEAD = 32 * 1024
/**
 * The longest head, in bytes: browsers keep 180 cookies of 4,096 bytes each for a host (Chrome; RFC 6265 bis). k3s's
 * Traefik takes as much.
 */
export const LONGEST_HEAD = 1024 * 1024

/**
 * Bounds the memory of all long heads together, and shares it among the clients. A head holds its part until its
 * request has been answered.
 */
export class LongHeads {
  readonly #share: FairShare

  constructor(bytes: number) {
    this.#share = new FairShare(bytes)
  }

  /** Returns the part of one head of a client. */
  of(client: string): HeadRoom {
    return new HeadRoom(this.#share, client)
  }
}

export class HeadRoom {
  readonly #share: FairShare
  readonly #client: string
  #held = 0

  constructor(share: FairShare, client: string) {
    this.#share = share
    this.#client = client
  }

  /** Takes what a head of so many bytes needs. Returns false when there is not so much for this client. */
  grow(length: number): boolean {
    const more = length - PLAIN_HEAD - this.#held
    if (more <= 0) return true
    if (!this.#share.take(this.#client, more)) return false
    this.#held += more
    return true
  }

  release(): void {
    if (this.#held === 0) return
    this.#share.giveBack(this.#client, this.#held)
    this.#held = 0
  }
}
