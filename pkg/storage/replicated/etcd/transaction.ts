import { TARGET, type Txn, type TxnResult } from "../../../etcd/messages.ts"
import type { SharedWrite } from "../shared-log.ts"
import { withPlace, type Numbering } from "./numbering.ts"

/**
 * Returns the transaction of some commits. No key may be in two of them.
 *
 * @param lease the lease with which etcd deletes the keys that have a time to live
 */
export function txnOf(
  commits: readonly (readonly SharedWrite[])[],
  numbering: Numbering,
  lease: bigint | undefined,
): Txn {
  let place = 0
  const inner = commits.map((writes) => ({
    compare: writes.map(({ key, expected }) => ({
      target: TARGET.mod,
      key: encoder.encode(key),
      modRevision: expected === 0 ? 0 : numbering.etcdRevisionOf(expected),
    })),
    success: writes.map(({ key, value, ttlSeconds }) => {
      const at = place++
      const bytes = encoder.encode(key)
      if (value === undefined) return { delete: { key: bytes } }
      return { put: { key: bytes, value: withPlace(value, at), lease: ttlSeconds === undefined ? undefined : lease } }
    }),
  }))
  return inner.length === 1 ? inner[0]! : { success: inner.map((txn) => ({ txn })) }
}

/** Returns for each commit the revisions of its writes, or undefined if it was refused. */
export function outcomesOf(
  commits: readonly (readonly SharedWrite[])[],
  { header, succeeded, responses }: TxnResult,
  numbering: Numbering,
): readonly (readonly number[] | undefined)[] {
  const revision = header?.revision ?? 0
  let [place, last] = [0, -1]
  return commits.map((writes, i) => {
    const isDone = commits.length === 1 ? succeeded : responses[i]?.txn?.succeeded === true
    if (!isDone) {
      place += writes.length
      return undefined
    }
    return writes.map(({ value }) => {
      last = value === undefined ? last + 1 : place
      place++
      return numbering.revisionOf(revision, last)
    })
  })
}

const encoder = new TextEncoder()
