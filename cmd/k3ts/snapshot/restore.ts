/**
 * Puts a snapshot in the place of `<data-dir>/server`. The new folder is made beside the old one, and takes its place
 * with two renames. A process that is killed before the first leaves the old folder as it was; one that is killed
 * between them is completed by the next start of the server (`completeRestore`).
 */
import { X509Certificate } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs"
import { basename, join } from "node:path"
import { CLUSTER_KEY, uidIn } from "../../../components/apiserver/cluster-image.ts"
import { databaseFile } from "../../../components/apiserver/store/database-file.ts"
import { fileError, readIfExists } from "../../../pkg/files/files.ts"
import type { SnapshotIndex, SnapshotSource } from "../../../pkg/snapshot/format.ts"
import { isFile, type SnapshotObject } from "../../../pkg/snapshot/records.ts"
import { writeServerFile } from "../../../pkg/snapshot/server-files.ts"
import { openSnapshot, type OpenSnapshot } from "../../../pkg/snapshot/unpack.ts"
import { acknowledgedRevision } from "../../../pkg/storage/sqlite/opening/acknowledged.ts"
import { createStore } from "../../../pkg/storage/sqlite/create.ts"
import { syncPath } from "../../../pkg/storage/sqlite/opening/empty.ts"
import { readObject } from "../../../pkg/storage/sqlite/read.ts"
import { lockDataDir, lockRestore, restorerOf } from "../process/pid-file.ts"

/**
 * The revisions of the restored cluster begin so many after those of the snapshot. Clients may have seen revisions that
 * came after the snapshot, and none of them may stand for another state: so watches that would go on behind them fail
 * with "410 Gone", and their clients list anew. At 5,000 writes a second this is enough for two days; it is what etcd's
 * documentation names for `etcdutl snapshot restore --bump-revision`.
 */
const LATER_REVISIONS = 1_000_000_000
/** Written as the author of what was restored, in the history of objects. */
const AUTHOR = "k3ts snapshot restore"
const CA = "tls/server-ca.crt"

export interface RestoreOptions {
  readonly dataDir: string
  /** Go on although the data directory is that of another cluster. */
  readonly replaceCluster: boolean
  /** Milliseconds since the epoch. */
  readonly now: number
}

export interface Restored {
  readonly index: SnapshotIndex
  readonly revision: number
  /** Where the folder is that was there before. */
  readonly old: string | undefined
}

const stagingOf = (dataDir: string): string => join(dataDir, "server.restoring")
const completeOf = (dataDir: string): string => join(dataDir, "server.restored")
const serverOf = (dataDir: string): string => join(dataDir, "server")

/**
 * Restores a snapshot. @throws Error when a server runs, the snapshot is damaged or of a later format, or the folder is
 * of another cluster; everything is then as before
 */
export async function restoreSnapshot(source: SnapshotSource, options: RestoreOptions): Promise<Restored> {
  completeRestore(options.dataDir, options.now)
  const lock = lockDataDir(options.dataDir)
  try {
    return await restoreIntoLocked(source, options)
  } finally {
    lock.release()
  }
}

/** As `restoreSnapshot`, for a caller that has locked the data directory. Its lock holds for the new folder too. */
export async function restoreIntoLocked(source: SnapshotSource, options: RestoreOptions): Promise<Restored> {
  const { dataDir, replaceCluster, now } = options
  const staging = stagingOf(dataDir)
  try {
    const snapshot = await openSnapshot(source)
    const { index } = snapshot
    const file = databaseFile(dataDir)
    rmSync(staging, { recursive: true, force: true }) // of a killed process
    mkdirSync(join(staging, "db"), { recursive: true, mode: 0o700 })
    lockRestore(staging)
    const newest = Math.max(index.revision, acknowledgedRevision(file) ?? 0)
    const revision = newest + LATER_REVISIONS
    const refuseOther = replaceCluster ? () => undefined : () => refuseOtherCluster(dataDir, staging, index)
    await createStore(join(staging, "db", basename(file)), revision, AUTHOR, objectsOf(snapshot, staging, refuseOther))
    syncFolders(staging)
    renameSync(staging, completeOf(dataDir))
    return { index, revision, old: putInPlace(dataDir, now) }
  } catch (err) {
    rmSync(staging, { recursive: true, force: true })
    // Without this, the next start would complete what has failed here.
    if (existsSync(serverOf(dataDir))) rmSync(completeOf(dataDir), { recursive: true, force: true })
    throw err
  }
}

/**
 * Completes a restore that was interrupted when all of it was there. For the start of a server. @throws Error while
 * another process restores
 */
export function completeRestore(dataDir: string, now: number): void {
  const complete = completeOf(dataDir)
  if (!existsSync(complete)) return
  const pid = restorerOf(complete)?.pid
  if (pid !== undefined && pid !== process.pid)
    throw new Error(`cannot use ${dataDir}: a snapshot is being restored into it (pid ${pid}); wait for its end`)
  putInPlace(dataDir, now)
  rmSync(join(serverOf(dataDir), "k3ts.pid"), { force: true })
}

/** Writes the files of the snapshot, and yields its objects, which come after them. */
async function* objectsOf(
  snapshot: OpenSnapshot,
  staging: string,
  afterFiles: () => void,
): AsyncGenerator<SnapshotObject> {
  let files = true
  for await (const record of snapshot.records()) {
    if (isFile(record)) {
      writeServerFile(staging, record)
      continue
    }
    if (files) afterFiles()
    files = false
    yield record
  }
}

/** @throws Error when the data directory has another cluster than the snapshot, as far as that can be told */
function refuseOtherCluster(dataDir: string, staging: string, { cluster }: SnapshotIndex): void {
  const present = clusterIn(dataDir)
  const [before, after] =
    present !== "" && cluster !== ""
      ? [present, cluster]
      : [publicKeyIn(join(serverOf(dataDir), CA)), publicKeyIn(join(staging, CA))]
  if (before === undefined || after === undefined || before === after) return
  throw new Error(
    `Cannot restore into ${dataDir}: it has another cluster than the snapshot (${before}, not ${after}); choose another ` +
      "--data-dir, or give --replace-cluster to put the other one aside",
  )
}

/** The UID of the cluster; empty when there is none, or when its database cannot be read: a reason to restore. */
function clusterIn(dataDir: string): string {
  try {
    return uidIn(readObject(databaseFile(dataDir), CLUSTER_KEY)?.value)
  } catch {
    return ""
  }
}

function publicKeyIn(certificate: string): string | undefined {
  const pem = readIfExists(certificate)
  try {
    return pem === undefined
      ? undefined
      : `${new X509Certificate(pem).publicKey.export({ type: "spki", format: "pem" })}`
  } catch {
    return undefined
  }
}

/** Puts the complete folder in the place of the old one. Returns where that is now; undefined when it had no data. */
function putInPlace(dataDir: string, now: number): string | undefined {
  const server = serverOf(dataDir)
  const old = freePath(`${server}-old-${Math.floor(now / 1000)}`)
  const hadData = existsSync(server) && readdirSync(server).some((name) => !name.startsWith("k3ts.pid"))
  try {
    if (existsSync(server)) renameSync(server, old)
    try {
      renameSync(completeOf(dataDir), server)
    } catch (err) {
      if (existsSync(old)) renameSync(old, server)
      throw err
    }
    syncPath(dataDir)
  } catch (err) {
    throw fileError("replace", server, err)
  }
  rmSync(hadData ? join(old, "k3ts.pid") : old, { recursive: true, force: true })
  return hadData ? old : undefined
}

function freePath(path: string): string {
  for (let n = 1; ; n++) {
    const free = n === 1 ? path : `${path}-${n}`
    if (!existsSync(free)) return free
  }
}

function syncFolders(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true }))
    if (entry.isDirectory()) syncPath(join(entry.parentPath, entry.name))
  syncPath(folder)
}
