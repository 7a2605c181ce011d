import { existsSync } from "node:fs"
import { databaseFile } from "../../../components/apiserver/store/database-file.ts"
import type { DatastoreConfig } from "../../../components/apiserver/store/storage-config.ts"
import { newPassword, passwordOf, writeJoinTokens } from "../../../components/supervisor/join-tokens.ts"
import type { NewPasswords } from "../../../components/supervisor/shared-files/shared-files.ts"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { defineCommand } from "../cli/command.ts"
import { removeIfPossible, replaceFile } from "../../../pkg/files/files.ts"
import { value } from "../cli/flags.ts"
import { anyText } from "../cli/flag-type.ts"
import { UsageError } from "../cli/usage-error.ts"
import { datastoreFlags, datastoreOf } from "../datastore/flags.ts"
import { ownEtcd } from "../etcd/own-etcd.ts"
import { join } from "node:path"
import { serverCa, serverPlace } from "./admin-client.ts"

export const rotate = defineCommand({
  summary: "Replace the tokens by which servers and agents join",
  details:
    "The old tokens become invalid at once, without a restart. Machines that have joined keep working, since they " +
    "have certificates. The tokens are in the files node-token and agent-token of <data-dir>/server. Where several " +
    "servers share a store, name it by --datastore-endpoint too, unless it is the etcd that runs beside this one: what they share in it is encrypted anew, and the other " +
    "servers need the new token at their next start.",
  flags: {
    ...serverPlace,
    ...datastoreFlags,
    "new-token": value(anyText.optional(), "The new token of servers; made by chance unless given", {
      placeholder: "TOKEN",
    }),
  },
  async run({ flags, print }) {
    const dir = join(flags["data-dir"], "server")
    const datastore = datastoreOf(flags) ?? ownEtcd(flags["data-dir"])
    if (datastore === undefined && sharesStore(flags["data-dir"]))
      throw new UsageError(
        "this server has no database of its own: name the store by --datastore-endpoint, since the keys that servers " +
          "share in it are encrypted with the token",
      )
    const caPem = serverCa(flags)
    const [chosen, agent] = [flags["new-token"] ?? newPassword(systemRandom), newPassword(systemRandom)]
    const server = passwordOf(chosen, "server")
    if (datastore !== undefined) await rotateShared(datastore, dir, { server, agent })
    writeJoinTokens({ dir, caPem, random: systemRandom, serverToken: server, agentToken: agent })
    print(`The new tokens are in ${join(dir, "node-token")} and ${join(dir, "agent-token")}\n`)
    if (datastore !== undefined)
      print("Start the other servers with the new token of servers; until then the old tokens are valid there\n")
    return 0
  },
})

/** Whether a server has run here whose store is not a database beside its files. */
const sharesStore = (dataDir: string): boolean =>
  existsSync(join(dataDir, "server/node-token")) && !existsSync(databaseFile(dataDir))

/**
 * Encrypts what servers share with the new password, which stands in a file before, so that a failure in the middle
 * loses neither.
 * @throws Error that names this file
 */
async function rotateShared(datastore: DatastoreConfig, dir: string, passwords: NewPasswords): Promise<void> {
  const { withSharedCell } = await import("../../../components/apiserver/store/shared-cell.ts")
  const { reencryptSharedFiles, SHARED_FILES_KEY } =
    await import("../../../components/supervisor/shared-files/shared-files.ts")
  const aside = join(dir, "node-token.new")
  replaceFile(aside, `${passwords.server}\n`, { mode: 0o600, sync: true })
  try {
    await withSharedCell(datastore, SHARED_FILES_KEY, realClock, (cell) =>
      reencryptSharedFiles({ dir, cell, random: systemRandom }, passwords),
    )
  } catch (err) {
    throw new Error(
      `${(err as Error).message}. The tokens here are the old ones. If the old one does not open the store any more, ` +
        `the one in ${aside} does`,
      { cause: err },
    )
  }
  removeIfPossible(aside)
}
