import { gitCommit, GIT_VERSION } from "../version/version.ts"

/** A user of this process's clients, and the name of its program if that is not its own. */
interface Actor {
  readonly name: string
  readonly agent?: string | undefined
}

/** The end of the User-Agent of programs whose parts have clients of their own. Source: kube-scheduler app/options. */
const PART: Readonly<Record<string, string>> = { "kube-scheduler": "/scheduler" }
const SERVICE_ACCOUNT = /^system:serviceaccount:[^:]+:/

/**
 * Returns the User-Agent of a component, as upstream's of the same name has it: audit logs show it, and managedFields
 * what stands before the slash. Controllers have the name of their service account at its end. Users of tests have only
 * their name. Source: client-go rest/config.go DefaultKubernetesUserAgent, AddUserAgent.
 */
export function userAgentOf({ name, agent }: Actor): string {
  const program = agent ?? programOf(name)
  if (agent === undefined && !name.startsWith("system:")) return program
  const part = SERVICE_ACCOUNT.test(name) ? `/${name}` : (PART[program] ?? "")
  const commit = gitCommit === "" ? "unknown" : gitCommit.slice(0, 7)
  return `${program}/${GIT_VERSION} (${PLATFORM}) kubernetes/${commit}${part}`
}

const PLATFORM = `${process.platform}/${process.arch === "x64" ? "amd64" : process.arch}`

const programOf = (user: string): string =>
  user === "system:apiserver" ? "kube-apiserver" : user.replace(/^system:(serviceaccount:[^:]+:)?/, "")
