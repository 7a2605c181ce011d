/**
 * The number that is added to revisions of etcd before they become revisions of k3ts. With it a new etcd continues
 * after the revisions of another store, so that a revision which a client has seen never stands for another state. It
 * is written while no server uses the etcd, and each server reads it at its start.
 */
import type { EtcdConnection } from "../../../etcd/connection.ts"
import { RPC } from "../../../etcd/messages.ts"
import { baseAfter } from "./numbering.ts"

const TIMEOUT_MS = 10_000
/** Not below /registry/, where the objects of the API are. */
const KEY = new TextEncoder().encode("/bootstrap/k3ts-revision-base")
/**
 * How many revisions of etcd may be missing from a member that becomes the only one. At 5,000 commits a second these
 * are three minutes, and a member that still runs is seldom so far behind.
 */
const RESET_REVISIONS = 1_000_000

/** Returns the number; 0 when none has been written. @throws EtcdError */
export async function readRevisionBase(etcd: EtcdConnection): Promise<number> {
  const { kvs } = await etcd.ask(RPC.range, { key: KEY }, TIMEOUT_MS)
  const [found] = kvs
  if (found === undefined) return 0
  const text = new TextDecoder().decode(found.value)
  if (!/^\d{1,12}$/.test(text))
    throw new Error(`The key ${new TextDecoder().decode(KEY)} in etcd is ${JSON.stringify(text)}, not a number`)
  return Number(text)
}

/** Makes revisions begin after `revision` of another store. For an etcd without objects. @throws EtcdError */
export const beginAfter = (etcd: EtcdConnection, revision: number): Promise<void> => write(etcd, baseAfter(revision))

/** Makes revisions continue far after all that may have existed. @throws EtcdError */
export const leapRevisions = async (etcd: EtcdConnection): Promise<void> =>
  write(etcd, (await readRevisionBase(etcd)) + RESET_REVISIONS)

async function write(etcd: EtcdConnection, base: number): Promise<void> {
  await etcd.call(RPC.put, { key: KEY, value: new TextEncoder().encode(String(base)) }, TIMEOUT_MS)
}
