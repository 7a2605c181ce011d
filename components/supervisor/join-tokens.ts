/**
 * The tokens by which machines join this cluster. Two never expire and are in files of the server: the token of the
 * user `server` lets servers and agents join, the one of `node` only agents. All others are bootstrap tokens of the
 * group `JOIN_GROUP`, which expire. Source: k3s pkg/server/router.go and pkg/server/auth.
 */
import { join } from "node:path"
import type { BootstrapToken } from "../../pkg/api/core/v1/secret/bootstrap-token.ts"
import type { Random } from "../../pkg/clock/random.ts"
import { readIfExists, replaceFile } from "../../pkg/files/files.ts"
import { formatJoinToken, parseJoinToken, type JoinCredential } from "./join-token.ts"
import { sameSecret } from "../../pkg/pki/same-secret.ts"
import { errorMessage } from "../../pkg/errors/error-message.ts"

/** The group of bootstrap tokens that join agents. */
export const JOIN_GROUP = "system:bootstrappers:k3ts:default-node-token"

/** The role in which a machine may join. A machine that may join as a server may also join as an agent. */
export type JoinsAs = "server" | "agent"

interface TokenFile {
  readonly file: string
  readonly user: string
  readonly joinsAs: JoinsAs
}

const SERVER: TokenFile = { file: "node-token", user: "server", joinsAs: "server" }
const AGENT: TokenFile = { file: "agent-token", user: "node", joinsAs: "agent" }

/** Returns the path of the file that holds the token for servers, or the one for agents. */
export const joinTokenFile = (dir: string, joinsAs: JoinsAs): string =>
  join(dir, (joinsAs === "server" ? SERVER : AGENT).file)

export interface JoinTokensOptions {
  /** `<data-dir>/server`. */
  readonly dir: string
  /** PEM of the CA of the server's certificate, with the certificates up to its root. */
  readonly caPem: string
  readonly random: Random
  /**
   * The token or password that the administrator chose. By default the one in the file is kept, or a random one is
   * made.
   */
  readonly serverToken?: string | undefined
  readonly agentToken?: string | undefined
}

/**
 * Writes the token files where they are missing or have the hash of another CA. @throws Error when a chosen token is
 * malformed
 */
export function writeJoinTokens({ dir, caPem, random, serverToken, agentToken }: JoinTokensOptions): void {
  for (const [{ file, user, joinsAs }, chosen] of [
    [SERVER, serverToken],
    [AGENT, agentToken],
  ] as const) {
    const path = join(dir, file)
    const password = chosen === undefined ? (passwordIn(dir, joinsAs) ?? newPassword(random)) : passwordOf(chosen, user)
    const whole = formatJoinToken(caPem, { user, password })
    if (whole !== readIfExists(path)?.trim()) replaceFile(path, `${whole}\n`, { mode: 0o600 })
  }
}

/**
 * Returns the password of a token of `user` (`server` or `node`) that joins by a password.
 * @throws Error for a bootstrap token
 */
export function passwordOf(text: string, user: string): string {
  const { credential } = parseJoinToken(text, user)
  if (!("user" in credential)) throw new Error("the token of a server must not have the form of a bootstrap token")
  if (credential.user !== user)
    throw new Error(`the token is that of the user ${JSON.stringify(credential.user)}, not of ${JSON.stringify(user)}`)
  return credential.password
}

/**
 * Returns the password in the file of a token below `dir`; undefined where there is none.
 * @throws Error that names the file and the mend
 */
export function passwordIn(dir: string, joinsAs: JoinsAs): string | undefined {
  const { file, user } = joinsAs === "server" ? SERVER : AGENT
  const path = join(dir, file)
  const written = readIfExists(path)?.trim() ?? ""
  if (written === "") return undefined
  try {
    return passwordOf(written, user)
  } catch (cause) {
    const reason = errorMessage(cause)
    throw new Error(`Cannot use ${path}: ${reason}; remove the file, and a new token is made at the next start`, {
      cause,
    })
  }
}

/** Makes a random password. */
export const newPassword = (random: Random): string => Buffer.from(random.bytes(16)).toString("hex")

/** Decides in which role a credential lets a machine join. */
export class JoinTokens {
  readonly #dir: string
  readonly #bootstrapToken: (text: string) => Promise<BootstrapToken | undefined>

  /** `bootstrapToken` resolves to the valid bootstrap token of a text, if it is one. */
  constructor(dir: string, bootstrapToken: (text: string) => Promise<BootstrapToken | undefined>) {
    this.#dir = dir
    this.#bootstrapToken = bootstrapToken
  }

  /**
   * Resolves to the role in which a machine may join; undefined when the credential is not valid. The files are read
   * each time, since `k3ts token rotate` changes them while the server runs.
   */
  async verify(credential: JoinCredential): Promise<JoinsAs | undefined> {
    if ("bootstrapToken" in credential) {
      const { id, secret } = credential.bootstrapToken
      const token = await this.#bootstrapToken(`${id}.${secret}`)
      return token?.groups.includes(JOIN_GROUP) === true ? "agent" : undefined
    }
    for (const { user, joinsAs } of [SERVER, AGENT]) {
      if (credential.user !== user) continue
      const password = passwordIn(this.#dir, joinsAs)
      if (password !== undefined && sameSecret(password, credential.password)) return joinsAs
    }
    return undefined
  }
}
