import { closeSync, constants, fchmodSync, fstatSync, lstatSync, openSync, readdirSync } from "node:fs"
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
  for (const path of [folder, ...secrets]) close(path, log)
}

/**
 * Takes the rights of others from a file or folder, through a descriptor: whoever may write to its folder could replace
 * a name by a link to another file of the machine in the meantime.
 */
function close(path: string, log: Logger): void {
  let fd: number | undefined
  let mode = ""
  try {
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found === undefined || !(found.isFile() || found.isDirectory()) || (found.mode & OF_OTHERS) === 0) return
    mode = (found.mode & 0o777).toString(8)
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    fchmodSync(fd, fstatSync(fd).mode & 0o700)
    log.warn("Took the rights of other users from a file with secrets: rotate what they may have read", { path, mode })
  } catch (error) {
    log.warn("A file with secrets can be read by other users: give it the mode 600, a folder 700", {
      path,
      mode,
      error,
    })
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // it does not exist before the first start
  }
}
