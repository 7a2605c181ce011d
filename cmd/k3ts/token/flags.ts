import { readIfExists } from "../../../pkg/files/files.ts"
import { value } from "../cli/flags.ts"
import { anyText } from "../cli/flag-type.ts"
import { UsageError } from "../cli/usage-error.ts"
import { fileToRead } from "../cli/values.ts"

/** The flag of a token, and of a file that holds it. */
const tokenFlag = (summary: string, short?: string) =>
  value(anyText.optional(), summary, { placeholder: "TOKEN", ...(short === undefined ? {} : { short }) })
const tokenFileFlag = (summary: string) => value(fileToRead.optional(), summary, { placeholder: "FILE", path: true })

/** The token by which a machine joins. */
export const joinTokenFlags = {
  token: tokenFlag("Token by which servers and agents join", "t"),
  "token-file": tokenFileFlag("File with the token by which servers and agents join"),
}

export const agentTokenFlags = {
  "agent-token": tokenFlag("Token by which agents join, and no servers"),
  "agent-token-file": tokenFileFlag("File with the token by which agents join, and no servers"),
}

/**
 * Returns the token of a flag or of its file; undefined where neither is given.
 * @throws UsageError when both are given, or the file is not there
 */
export function tokenOf(name: string, token: string | undefined, file: string | undefined): string | undefined {
  if (token !== undefined && file !== undefined) throw new UsageError(`--${name} and --${name}-file exclude each other`)
  if (file === undefined) return token
  const text = readIfExists(file)
  if (text === undefined)
    throw new UsageError(`invalid value ${JSON.stringify(file)} for --${name}-file: there is no such file`)
  return text.trim()
}

interface JoinTokenFlags {
  readonly token: string | undefined
  readonly "token-file": string | undefined
  readonly "agent-token": string | undefined
  readonly "agent-token-file": string | undefined
}

/** Returns the tokens that the administrator chose for servers and for agents. @throws UsageError */
export const joinTokensOf = (
  flags: JoinTokenFlags,
): { readonly serverToken: string | undefined; readonly agentToken: string | undefined } => ({
  serverToken: tokenOf("token", flags.token, flags["token-file"]),
  agentToken: tokenOf("agent-token", flags["agent-token"], flags["agent-token-file"]),
})
