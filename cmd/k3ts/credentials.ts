import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { localUrl } from "../../components/apiserver/local-url.ts"
import { openClusterPki, type ClusterPki } from "../../pkg/pki/cluster-pki.ts"
import { findServer, type Listening } from "./pid-file.ts"

/**
 * The certificates of a cluster that has been started once. @throws Error when there is none, or when this user may not
 * read them
 */
export function openPki(dataDir: string, now: () => number): ClusterPki {
  const dir = join(dataDir, "server/tls")
  readable(join(dir, "server-ca.key"), dataDir)
  return openClusterPki({ dir, now })
}

/** The administrator's bearer token. @throws as openPki */
export const adminToken = (dataDir: string): string => readable(join(dataDir, "server/token"), dataDir).trim()

/** Where the cluster's server is reached from this machine: as it runs, or else as the flags would have it. */
export function localServer(dataDir: string, otherwise: Listening): string {
  const { host, port } = findServer(dataDir)?.listens ?? otherwise
  return localUrl(host, port)
}

function readable(path: string, dataDir: string): string {
  try {
    return readFileSync(path, "utf8")
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
