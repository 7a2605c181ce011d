import { basename, join } from "node:path"
import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { command } from "../command/command.ts"
import { boolFlag } from "../command/flag.ts"
import { defaultSubCommand } from "../command/default-sub-command.ts"
import { entryNamed } from "../command/find.ts"
import { errorCode, goPathError, type Files } from "../environment/files.ts"
import type { CommandEntry } from "../command/command.ts"

const PREFIX = "kubectl-"

const example = `
# List all plugins
kubectl plugin list

# List the names of plugins without their folders
kubectl plugin list --name-only`

/** Source: kubectl pkg/cmd/plugin/plugin.go. */
const listCommand = command({
  use: "list",
  short: "List the plugins in the folders of PATH",
  long: `
List the plugins in the folders of PATH. With --name-only, without the folders.

 A plugin is a file that

  *  may be executed
  *  is in a folder of PATH
  *  has a name that begins with "kubectl-"`,
  example,
  flags: { "name-only": boolFlag(false, "If true, print the names of plugins, without their folders") },
  async run({ flags, environment, parents, out, errOut }) {
    const { files, variables } = environment
    const folders = [...new Set((variables["PATH"] ?? "").split(":"))].filter((folder) => folder.trim() !== "")
    const errors: string[] = []
    const plugins: string[] = []
    for (const folder of folders)
      try {
        for (const name of await files.list(folder))
          if (name.startsWith(PREFIX) && (await files.stat(join(folder, name), { link: true }))?.isDirectory !== true)
            plugins.push(join(folder, name))
      } catch (err) {
        if (errorCode(err) === undefined) throw err
        await errOut.write(
          `Unable to read directory ${goQuoted(folder)} from your PATH: ${goPathError("open", folder, err).message}. Skipping...\n`,
        )
      }
    if (plugins.length === 0) errors.push("error: unable to find any kubectl plugins in your PATH")
    else await out.write("The following compatible plugins are available:\n\n")
    let warnings = 0
    const seen = new Map<string, string>()
    for (const path of plugins) {
      await out.write(`${flags["name-only"] ? basename(path) : path}\n`)
      for (const problem of await problemsOf(path, files, seen, parents.at(-1)?.commands ?? [])) {
        await errOut.write(`  - ${problem}\n`)
        warnings++
      }
    }
    if (warnings === 1) errors.push("error: one plugin warning was found")
    else if (warnings > 1) errors.push(`error: ${warnings} plugin warnings were found`)
    if (errors.length > 0) throw new Error(errors.map((error) => `${error}\n`).join(""))
  },
})

async function problemsOf(
  path: string,
  files: Files,
  seen: Map<string, string>,
  commands: readonly CommandEntry[],
): Promise<readonly string[]> {
  const problems: string[] = []
  const name = basename(path)
  const stat = await files.stat(path)
  if (stat === undefined || (stat.mode & 0o111) === 0)
    problems.push(`warning: ${path} identified as a kubectl plugin, but it is not executable`)
  const earlier = seen.get(name)
  if (earlier !== undefined) problems.push(`warning: ${path} is overshadowed by a similarly named plugin: ${earlier}`)
  else seen.set(name, path)
  const [first = "", ...rest] = name.split("-").slice(1)
  const entry = entryNamed(commands, first)
  if (entry !== undefined) {
    const below = rest[0] === undefined ? undefined : entryNamed((await entry.load()).commands, rest[0])
    const path = ["kubectl", entry.name, ...(below === undefined ? [] : [below.name])].join(" ")
    problems.push(`warning: ${name} overwrites existing command: ${goQuoted(path)}`)
  }
  return problems
}

export const pluginCommand = command({
  use: "plugin [flags]",
  noFlagsInUse: true,
  short: "List plugins, which are further commands",
  long: `
List plugins. A plugin is a program that kubectl runs as a command of its own.

 How plugins are written is in the documentation of Kubernetes.

 The easiest way to find and install plugins is krew: [krew.sigs.k8s.io]. How krew is installed is at https://krew.sigs.k8s.io/docs/user-guide/setup/install`,
  example,
  commands: [listCommand],
  run: defaultSubCommand("errOut"),
})
