/**
 * The CAs and keys that all servers of a cluster share. The first server puts them into the store, encrypted with the
 * token by which servers join; the others take them from there before they open their own files. Source of the idea:
 * k3s pkg/cluster/bootstrap.go and storage.go. Differs from k3s: the key in the store does not depend on the token. So
 * when servers with different tokens start at the same time, only one of them succeeds; and whoever reads the store can
 * test a guessed token only at the cost of scrypt.
 */
import { z } from "zod"
import type { Random } from "../../../pkg/clock/random.ts"
import type { Cell, CellValue } from "../../../pkg/cell/cell.ts"
import { replaceFile } from "../../../pkg/files/files.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { joinTokenFile, newPassword, passwordIn, passwordOf } from "../join-tokens.ts"
import {
  completeKeyFiles,
  differingKeyFiles,
  KEY_FILES,
  ownKeyFiles,
  writeMissingKeyFiles,
  type KeyFiles,
} from "./key-files.ts"
import { seal, unseal } from "./seal.ts"

/** The key in the store. It is not below /registry/, so no request to the API can read it. */
export const SHARED_FILES_KEY = "/bootstrap/k3ts"

/** The content of the key after decryption. */
const contentSchema = z.object({
  files: z.object(Object.fromEntries(KEY_FILES.map((name) => [name, z.string()]))),
  /** The password by which agents join. */
  agentPassword: z.string(),
})
interface Content {
  readonly files: KeyFiles
  readonly agentPassword: string
}

export interface SharedFilesOptions {
  /** `<data-dir>/server`. */
  readonly dir: string
  readonly cell: Cell
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly random: Random
  readonly log: Pick<Logger, "info">
  /** The token that the administrator chose; by default the one in this server's file. */
  readonly serverToken?: string | undefined
  readonly agentToken?: string | undefined
}

/**
 * Writes the files of the cluster to this server's disk, or shares this server's files if the cluster has none yet.
 * Overwrites no file but the password for agents. @throws Error when this server's token or files differ from the
 * cluster's; what the cell throws
 */
export async function shareFiles(options: SharedFilesOptions): Promise<void> {
  const { cell, dir, serverToken } = options
  const known = serverToken === undefined ? passwordIn(dir, "server") : passwordOf(serverToken, "server")
  const stored = await cell.read()
  if (stored !== undefined) return take(options, stored, known)
  const password = known ?? keptPassword(options)
  if (await give(options, password)) return
  const first = await cell.read()
  if (first === undefined) throw new Error("The shared files have gone from the store while this server started")
  await take(options, first, password)
}

/** Puts the files of this server into the store, unless another server has been faster. Resolves to whether it did. */
async function give(options: SharedFilesOptions, password: string): Promise<boolean> {
  const { dir, cell, now, random, log, agentToken } = options
  const own = ownKeyFiles(dir)
  const content: Content = {
    files: completeKeyFiles(own, now, random),
    agentPassword:
      (agentToken === undefined ? passwordIn(dir, "agent") : passwordOf(agentToken, "node")) ?? newPassword(random),
  }
  if (!(await cell.write(await sealed(content, password, random), 0))) return false
  keep(options, own, content)
  log.info("Shared this server's authorities and keys with other servers, encrypted with the token")
  return true
}

async function take(options: SharedFilesOptions, stored: CellValue, password: string | undefined): Promise<void> {
  const { dir, log } = options
  if (password === undefined)
    throw new Error(
      "The store has the authorities and keys of a cluster already, encrypted with its token: start this server with " +
        "--token, which is in the file server/node-token of each server of that cluster",
    )
  const content = await opened(stored, password)
  const own = ownKeyFiles(dir)
  const differing = differingKeyFiles(own, content.files)
  if (differing.length > 0)
    throw new Error(
      `This server has other files than the cluster in the store: ${differing.join(", ")} in ${dir}. Nothing has been ` +
        "overwritten. Name the store of this server's own cluster by --datastore-endpoint, or, to join that one, start " +
        "with an empty --data-dir",
    )
  const isNew = Object.keys(own).length < KEY_FILES.length
  keep(options, own, content)
  if (isNew) log.info("Took the authorities and keys of the cluster from the store")
}

/** Writes the files that this server lacks. */
function keep({ dir, agentToken }: SharedFilesOptions, own: KeyFiles, { files, agentPassword }: Content): void {
  writeMissingKeyFiles(dir, own, files)
  if (agentToken === undefined && passwordIn(dir, "agent") !== agentPassword) writePassword(dir, "agent", agentPassword)
}

/** Makes a password. It is on the disk before the store has anything that only this password opens. */
function keptPassword({ dir, random }: SharedFilesOptions): string {
  const password = newPassword(random)
  writePassword(dir, "server", password)
  return password
}

const writePassword = (dir: string, joinsAs: "server" | "agent", password: string): void =>
  replaceFile(joinTokenFile(dir, joinsAs), `${password}\n`, { mode: 0o600, sync: true })

export interface NewPasswords {
  readonly server: string
  readonly agent: string
}

/**
 * Encrypts the files in the store with a new password, and stores the new password for agents with them. The caller
 * must have written the new passwords to disk before, since afterwards only they open the files. @throws Error when the
 * store has no such files, or this server's token does not open them; what the cell throws
 */
export async function reencryptSharedFiles(
  { dir, cell, random }: Pick<SharedFilesOptions, "dir" | "cell" | "random">,
  passwords: NewPasswords,
): Promise<void> {
  const stored = await cell.read()
  const password = passwordIn(dir, "server")
  if (stored === undefined || password === undefined)
    throw new Error("Cannot rotate the tokens: the store has no shared files yet, or this machine is no server")
  const content = { ...(await opened(stored, password)), agentPassword: passwords.agent }
  const bytes = await sealed(content, passwords.server, random)
  if (!(await cell.write(bytes, stored.revision)))
    throw new Error("Cannot rotate the tokens: they were rotated by another command at the same time. Try again")
}

const sealed = (content: Content, password: string, random: Random): Promise<Uint8Array> =>
  seal(JSON.stringify(content), password, random)

async function opened({ value }: CellValue, password: string): Promise<Content> {
  const text = await unseal(value, password).catch((err: Error) => {
    throw new Error(`Cannot read ${SHARED_FILES_KEY} in the store: ${err.message}`, { cause: err })
  })
  if (text === undefined)
    throw new Error(
      "The store has the authorities and keys of a cluster that are encrypted with another token than this server's. " +
        "Nothing has been changed. Start with --token and the token in the file server/node-token of a server of that " +
        "cluster",
    )
  return contentSchema.parse(JSON.parse(text)) as Content
}
