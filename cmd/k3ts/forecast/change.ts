import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import type { Change } from "../../../components/cluster/testing/forecast/forecast.ts"
import { UsageError } from "../cli/usage-error.ts"

/** Flags of kubectl that name files. */
const FILES: ReadonlySet<string> = new Set(["-f", "--filename", "-k", "--kustomize"])

/**
 * Returns the change that a command line describes: `lose NODE`, or any command of kubectl. Files that it names are
 * read now. `namespace` is that of the kubeconfig. @throws UsageError
 */
export function changeOf(words: readonly string[], namespace: string | undefined): Change {
  const [verb, ...args] = words
  if (verb === undefined) throw new UsageError("name a change: drain NODE, lose NODE, or another command of kubectl")
  if (verb === "lose") return lose(args)
  const files = filesOf(words)
  const own = namespace === undefined || namesNamespace(args) ? [] : [`--namespace=${namespace}`]
  const command = [...words, ...own, ...(verb === "drain" ? drainFlags(args) : [])]
  return async (cluster) => {
    const { code, stdout, stderr } = await cluster.kubectl(command, { files })
    return { code, output: `${stdout}${stderr}` }
  }
}

function lose(nodes: readonly string[]): Change {
  if (nodes.length === 0 || nodes.some((node) => node.startsWith("-")))
    throw new UsageError("name the nodes: lose NODE…")
  return async (cluster) => {
    const unknown = nodes.filter((node) => !cluster.nodes.includes(node))
    if (unknown.length > 0) return { code: 1, output: `there is no node ${unknown.join(", ")}` }
    for (const node of nodes) await cluster.faults.nodeLost(node)
    return { code: 0, output: "" }
  }
}

const hasFlag = (args: readonly string[], ...names: readonly string[]): boolean =>
  args.some((arg) => names.some((name) => arg === name || arg.startsWith(`${name}=`)))

/** Whether a command has a namespace of its own: `-n team`, `-nteam`, `--namespace=team`, `-A`. */
const namesNamespace = (args: readonly string[]): boolean =>
  hasFlag(args, "--namespace", "--all-namespaces", "-A") || args.some((arg) => arg.startsWith("-n"))

/** When a drain gives up that budgets hold up. */
const LONGEST_DRAIN = "4m"

/** What nearly every drain needs; without a limit it would wait for budgets for ever. */
const drainFlags = (args: readonly string[]): readonly string[] => [
  ...(hasFlag(args, "--ignore-daemonsets") ? [] : ["--ignore-daemonsets"]),
  ...(hasFlag(args, "--delete-emptydir-data") ? [] : ["--delete-emptydir-data"]),
  ...(hasFlag(args, "--timeout") ? [] : [`--timeout=${LONGEST_DRAIN}`]),
]

/** Reads the files that a command line names, by the names that it gives them. */
function filesOf(words: readonly string[]): Readonly<Record<string, string>> {
  const named = words.flatMap((word, i) => {
    const [flag = "", ...rest] = word.split("=")
    if (!FILES.has(flag)) return []
    return (rest.length > 0 ? rest.join("=") : (words[i + 1] ?? "")).split(",")
  })
  return Object.fromEntries(named.flatMap(filesAt))
}

function filesAt(path: string): readonly (readonly [string, string])[] {
  if (path === "" || path === "-" || /^https?:/.test(path))
    throw new UsageError(`cannot read ${JSON.stringify(path)} for a forecast: name a file or a folder`)
  try {
    if (!statSync(path).isDirectory()) return [[path, readFileSync(path, "utf8")]]
    return readdirSync(path).flatMap((name) => filesAt(join(path, name)))
  } catch (cause) {
    throw new UsageError(`cannot read ${path}: ${(cause as Error).message}`)
  }
}
