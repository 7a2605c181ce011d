import type { Cell, CellValue } from "../cell/cell.ts"
import type { EtcdConnection } from "./connection.ts"
import { RPC, TARGET } from "./messages.ts"

const TIMEOUT_MS = 10_000

/**
 * A cell that is one key in etcd. Its methods throw EtcdError. When `write` throws, the value may have been written.
 */
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
