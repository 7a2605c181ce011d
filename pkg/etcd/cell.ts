import type { EtcdConnection } from "./connection.ts"
import { RPC, TARGET } from "./messages.ts"

const TIMEOUT_MS = 10_000

/** A value that several servers share, and that each of them replaces only where it knows what is there. */
export interface Cell {
  /** Returns the value as it is, agreed by a majority; undefined where there is none. */
  read(): Promise<CellValue | undefined>
  /** Writes, if the value is still that of `revision` (0: none). Resolves to whether it has. */
  write(value: Uint8Array, revision: number): Promise<boolean>
}

export interface CellValue {
  readonly value: Uint8Array
  /** The revision of its write. */
  readonly revision: number
}

/** One key of an etcd. Its methods throw EtcdError; after one of `write`, the value may have been written. */
export class EtcdCell implements Cell {
  readonly #etcd: EtcdConnection
  readonly #key: Uint8Array

  constructor(etcd: EtcdConnection, key: string) {
    this.#etcd = etcd
    this.#key = new TextEncoder().encode(key)
  }

  async read(): Promise<CellValue | undefined> {
    const { kvs } = await this.#etcd.ask(RPC.range, { key: this.#key }, TIMEOUT_MS)
    const [found] = kvs
    return found === undefined ? undefined : { value: found.value, revision: found.modRevision }
  }

  async write(value: Uint8Array, revision: number): Promise<boolean> {
    const key = this.#key
    const { succeeded } = await this.#etcd.call(
      RPC.txn,
      { compare: [{ target: TARGET.mod, key, modRevision: revision }], success: [{ put: { key, value } }] },
      TIMEOUT_MS,
    )
    return succeeded
  }
}
