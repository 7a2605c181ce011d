import { chmodSync, lstatSync, readdirSync } from "node:fs"
import { join } from "node:path"
import type { Logger } from "../../../pkg/log/log.ts"

/** What other users may do with a file. */
const OF_OTHERS = 0o077
/** Files with secrets: private keys, tokens and passwords. */
const SECRET = /(?:\.key|token|password|kubeconfig)$/

/**
 * Takes the rights of other users from `<data-dir>/server`, which has the keys and the database of the cluster, and
 * from the keys and tokens in it, and logs a warning for each: a copy or a backup may have restored them with other
 * modes. What others may have read meanwhile should be rotated.
 */
export function closeServerFolder(dataDir: string, log: Logger): void {
  const folder = join(dataDir, "server")
  const secrets = [folder, join(folder, "tls")].flatMap((parent) =>
    namesIn(parent)
      .filter((name) => SECRET.test(name))
      .map((name) => join(parent, name)),
  )
  for (const path of [folder, ...secrets]) {
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found === undefined || found.isSymbolicLink() || (found.mode & OF_OTHERS) === 0) continue
    const mode = (found.mode & 0o777).toString(8)
    try {
      chmodSync(path, found.mode & 0o700)
      log.warn("Took the rights of other users from a file with secrets: rotate what they may have read", {
        path,
        mode,
      })
    } catch (error) {
      log.warn("A file with secrets can be read by other users: give it the mode 600, a folder 700", {
        path,
        mode,
        error,
      })
    }
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // it does not exist before the first start
  }
}
