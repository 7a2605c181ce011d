/**
 * The number that is added to revisions of etcd before they become revisions of k3ts. It lets a new etcd go on where
 * another store has ended, so that no revision which a client has seen stands for another state. It is written while no
 * server uses the etcd, and read by each at its start.
 */
import type { EtcdConnection } from "../../../etcd/connection.ts"
import { RPC } from "../../../etcd/messages.ts"
import { baseAfter } from "./numbering.ts"

const TIMEOUT_MS = 10_000
/** Not below /registry/, as no object of the API. */
const KEY = new TextEncoder().encode("/bootstrap/k3ts-revision-base")
/**
 * As many revisions of etcd may be missing from a member that becomes the only one. At 5,000 commits a second it is
 * enough for three minutes, and members are seldom so far behind that still run.
 */
const RESET_REVISIONS = 1_000_000

/** Returns the number; 0 where none has been written. @throws EtcdError */
export async function readRevisionBase(etcd: EtcdConnection): Promise<number> {
  const { kvs } = await etcd.ask(RPC.range, { key: KEY }, TIMEOUT_MS)
  const [found] = kvs
  if (found === undefined) return 0
  const text = new TextDecoder().decode(found.value)
  if (!/^\d{1,12}$/.test(text))
    throw new Error(`The key ${new TextDecoder().decode(KEY)} in etcd holds ${JSON.stringify(text)}, and no number`)
  return Number(text)
}

/** Lets revisions begin after `revision`, of another store. For an etcd without objects. @throws EtcdError */
export const beginAfter = (etcd: EtcdConnection, revision: number): Promise<void> => write(etcd, baseAfter(revision))

/** Lets revisions go on far behind those that there may have been. @throws EtcdError */
export const leapRevisions = async (etcd: EtcdConnection): Promise<void> =>
  write(etcd, (await readRevisionBase(etcd)) + RESET_REVISIONS)

async function write(etcd: EtcdConnection, base: number): Promise<void> {
  await etcd.call(RPC.put, { key: KEY, value: new TextEncoder().encode(String(base)) }, TIMEOUT_MS)
}
