import { EtcdError, type EtcdConnection } from "../../../etcd/connection.ts"
import { RPC, TARGET } from "../../../etcd/messages.ts"
import type { Numbering } from "./numbering.ts"

const TIMEOUT_MS = 10_000
const KEY = new TextEncoder().encode("compact_rev_key")

/**
 * Compacts etcd. Every server tries at intervals. A key counts the compactions: when another server has compacted since
 * its last attempt, a server does nothing. The key is upstream's, so a kube-apiserver on the same etcd takes part.
 * Source: apiserver pkg/storage/etcd3/compact.go.
 */
export class Compactor {
  readonly #etcd: EtcdConnection
  readonly #numbering: Numbering
  /** The number of compactions that this server has seen. */
  #count = 0

  constructor(etcd: EtcdConnection, numbering: Numbering) {
    this.#etcd = etcd
    this.#numbering = numbering
  }

  /** Resolves to whether this server has compacted. @throws EtcdError */
  async compact(revision: number): Promise<boolean> {
    const upTo = this.#numbering.etcdRevisionOf(revision)
    const { succeeded, responses } = await this.#etcd.call(
      RPC.txn,
      {
        compare: [{ target: TARGET.version, key: KEY, version: this.#count }],
        success: [{ put: { key: KEY, value: new TextEncoder().encode(String(upTo)) } }],
        failure: [{ range: { key: KEY } }],
      },
      TIMEOUT_MS,
    )
    if (!succeeded) {
      this.#count = responses[0]?.range?.kvs[0]?.version ?? 0
      return false
    }
    this.#count++
    await this.#etcd.call(RPC.compact, { revision: upTo }, TIMEOUT_MS).catch(unlessCompacted)
    return true
  }
}

/** Ignores the error that etcd has compacted further already, for example by itself (--auto-compaction-retention). */
function unlessCompacted(err: unknown): void {
  if (!(err instanceof EtcdError && err.code === "OutOfRange")) throw err
}
