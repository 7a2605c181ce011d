import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { localUrl } from "../../components/apiserver/serving/local-url.ts"
import { openClusterPki, type ClusterPki } from "../../pkg/pki/cluster-pki.ts"
import { findServer } from "./process/pid-file.ts"
import type { ServerFlags } from "./config/server-flags.ts"

/**
 * Reads the certificates of a cluster that was started before. @throws Error when there are none, or this user may not
 * read them
 */
export function openPki(dataDir: string, now: () => number): ClusterPki {
  const dir = join(dataDir, "server/tls")
  readable(join(dir, "server-ca.key"), dataDir)
  return openClusterPki({ dir, now })
}

/** Returns the administrator's bearer token. @throws as openPki */
export const adminToken = (dataDir: string): string => readable(join(dataDir, "server/token"), dataDir).trim()

/**
 * Returns the address of the cluster's server on this machine: that of the running server, or else that of the flags.
 */
export function localServer(flags: Pick<ServerFlags, "data-dir" | "bind-address" | "https-listen-port">): string {
  const otherwise = { host: flags["bind-address"], port: flags["https-listen-port"] }
  const { host, port } = findServer(flags["data-dir"])?.listens ?? otherwise
  return localUrl(host, port)
}

/** @throws Error when the folder is not there, or this user may not read it */
export const readableFolder = (path: string, dataDir: string): void =>
  void orExplained(path, dataDir, () => readdirSync(path))

const readable = (path: string, dataDir: string): string => orExplained(path, dataDir, () => readFileSync(path, "utf8"))

function orExplained<T>(path: string, dataDir: string, read: () => T): T {
  try {
    return read()
  } catch (err) {
    const { code } = err as NodeJS.ErrnoException
    if (code === "EACCES") throw new Error(`${path} is for root only: run this with sudo`, { cause: err })
    if (code !== "ENOENT") throw err
    throw new Error(
      existsSync(dataDir)
        ? `There is no cluster in ${dataDir} yet: start k3ts server, or name its --data-dir`
        : `There is no folder ${dataDir}: start k3ts server, or name its --data-dir`,
      { cause: err },
    )
  }
}
