import { cleanPath } from "../../apimachinery/go/go-path.ts"
import { isAbsolutePath } from "./paths.ts"

/** Seconds after which a clone is given up. */
const DEFAULT_TIMEOUT = 27
const SCHEMES = ["ssh://", "https://", "http://", "file://"] as const

interface RepoFields {
  readonly raw: string
  readonly host: string
  readonly repoPath: string
  readonly rootPath: string
  readonly ref: string
  readonly hasSubmodules: boolean
  /** In seconds. */
  readonly timeout: number
}

/** A folder in a git repository, as a kustomization refers to it. Source: kustomize api/internal/git/repospec.go. */
export class RepoSpec implements RepoFields {
  readonly raw: string
  readonly host: string
  readonly repoPath: string
  /** The folder in the repository. */
  readonly rootPath: string
  /** The branch, tag or commit; "" for the default branch. */
  readonly ref: string
  readonly hasSubmodules: boolean
  readonly timeout: number

  private constructor(fields: RepoFields) {
    this.raw = fields.raw
    this.host = fields.host
    this.repoPath = fields.repoPath
    this.rootPath = fields.rootPath
    this.ref = fields.ref
    this.hasSubmodules = fields.hasSubmodules
    this.timeout = fields.timeout
  }

  /** What git clones. */
  get cloneSpec(): string {
    return this.host + this.repoPath
  }

  /** Returns the repository that a text means, or why it means none. */
  static parse(raw: string): RepoSpec | string {
    if (isAbsolutePath(raw)) return `uri looks like abs path: ${raw}`
    const at = raw.indexOf("?")
    const [address, query] = at === -1 ? [raw, ""] : [raw.slice(0, at), raw.slice(at + 1)]
    const host = splitHost(address)
    if (typeof host === "string") return host
    const parts = splitRepository(host.rest, host.host.startsWith("file://"))
    return typeof parts === "string" ? parts : new RepoSpec({ raw, host: host.host, ...parts, ...queryOf(query) })
  }
}

function splitHost(address: string): { readonly host: string; readonly rest: string } | string {
  let rest = address.replace(/^git::/i, "")
  const scheme = SCHEMES.find((scheme) => rest.toLowerCase().startsWith(scheme)) ?? ""
  rest = rest.slice(scheme.length)
  const user = /^[a-zA-Z][a-zA-Z0-9-]*@/.exec(rest)?.[0] ?? ""
  rest = rest.slice(user.length)
  const isGithub = /^github\.com[/:]/i.test(rest)
  // `user@host:path` and `github.com:path`.
  const isShort = scheme === "" && (user !== "" || isGithub)
  if (scheme === "" && !isShort) return "failed to parse scheme"
  if (scheme === "file://") return { host: scheme, rest: user + rest }
  const at = separatorOf(rest, isShort)
  const [name, path] = at === -1 ? [rest, ""] : [rest.slice(0, at + 1), rest.slice(at + 1)]
  if (isGithub)
    return scheme === "ssh://" || user !== ""
      ? { host: `${user}github.com:`, rest: path }
      : { host: "https://github.com/", rest: path }
  return name === "" ? "failed to parse host segment" : { host: scheme + user + name, rest: path }
}

function separatorOf(address: string, isShort: boolean): number {
  const slash = address.indexOf("/")
  const colon = address.indexOf(":")
  return isShort && (slash === -1 || (colon > 0 && colon < slash)) ? colon : slash
}

function splitRepository(
  path: string,
  isFile: boolean,
): { readonly repoPath: string; readonly rootPath: string } | string {
  const parts = splitAtMarker(path) ?? splitAtLength(path, isFile)
  if (parts === undefined || parts[0] === "") return "failed to parse repo path segment"
  const [repoPath, rootPath] = parts
  if (cleanPath(rootPath.replace(/^\//, "")).split("/")[0] === "..") return `url path exits repo: ${path}`
  return { repoPath, rootPath: rootPath.replace(/^\//, "") }
}

/** `_git/`, `//` and `.git` say where the repository ends. */
function splitAtMarker(path: string): [string, string] | undefined {
  const azure = path.indexOf("_git/")
  if (azure !== -1) {
    const end = azure + "_git/".length
    const [name = "", ...rest] = path.slice(end).split("/")
    return [path.slice(0, end) + name, rest.join("/")]
  }
  const slashes = path.indexOf("//")
  if (slashes !== -1) return [path.slice(0, slashes), path.slice(slashes + 2)]
  const suffix = path.indexOf(".git")
  return suffix === -1 ? undefined : [path.slice(0, suffix + 4), path.slice(suffix + 4)]
}

/** Without a marker the repository is `<owner>/<name>`. */
function splitAtLength(path: string, isFile: boolean): [string, string] | undefined {
  if (isFile) return [path, ""]
  const parts = path.split("/")
  return parts.length < 2 ? undefined : [parts.slice(0, 2).join("/"), parts.slice(2).join("/")]
}

function queryOf(query: string): Pick<RepoFields, "ref" | "timeout" | "hasSubmodules"> {
  const values = new URLSearchParams(query)
  const submodules = values.get("submodules") ?? ""
  return {
    ref: values.get("ref") || values.get("version") || "",
    timeout: timeoutOf(values.get("timeout") ?? ""),
    hasSubmodules: !/^(?:0|f|F|false|FALSE|False)$/.test(submodules),
  }
}

const UNITS: Readonly<Record<string, number>> = { h: 3600, m: 60, s: 1, ms: 0.001, us: 1e-6, µs: 1e-6, ns: 1e-9 }

function timeoutOf(text: string): number {
  if (/^\+?\d+$/.test(text)) return Number(text) > 0 ? Number(text) : DEFAULT_TIMEOUT
  if (!/^\+?(?:\d+(?:\.\d*)?(?:h|ms|m|s|us|µs|ns))+$/.test(text)) return DEFAULT_TIMEOUT
  let seconds = 0
  for (const [, number, unit] of text.matchAll(/(?<!\d)(\d+(?:\.\d*)?)(h|ms|m|s|us|µs|ns)/g))
    seconds += Number(number) * UNITS[unit!]!
  return seconds > 0 ? seconds : DEFAULT_TIMEOUT
}
