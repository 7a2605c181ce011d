import { existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs"
import { delimiter, join, resolve } from "node:path"
import { replaceFile } from "../../../pkg/files/files.ts"
import { defineCommand, type CommandGroup } from "../cli/command.ts"
import { kubeApiServer } from "../test-assets/api-server.ts"
import { etcd } from "../test-assets/etcd.ts"
import { filePath } from "../cli/values.ts"
import { UsageError } from "../cli/usage-error.ts"

/** The programs of the folder that are commands of k3ts. */
const PROGRAMS = ["etcd", "kube-apiserver"] as const

const make = defineCommand({
  summary: "Make the folder of KUBEBUILDER_ASSETS, and print its path",
  details:
    "KUBEBUILDER_ASSETS=$(k3ts test-assets make ./bin/k3ts) go test ./...\n" +
    "The folder has etcd and kube-apiserver, which start this program, and kubectl where there is one on the PATH. So a " +
    "suite on envtest runs unchanged.",
  flags: {},
  positionals: { name: "DIR", min: 1, max: 1 },
  run({ args, print }) {
    const read = filePath.read(args[0])
    if ("fault" in read) throw new UsageError(`the folder ${read.fault}`)
    const folder = read.value
    mkdirSync(folder, { recursive: true })
    for (const program of PROGRAMS) {
      const words = [...ownProgram(), "test-assets", program].map(quoted).join(" ")
      // A suite may be starting the program that is there; and a link to one that others use is replaced.
      replaceFile(join(folder, program), `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 })
    }
    linkKubectl(folder)
    print(`${folder}\n`)
    return Promise.resolve()
  },
})

/** The words that start this program: its file, or the runtime and the file of the source. */
function ownProgram(): readonly string[] {
  const [, main = ""] = process.argv
  return main.startsWith("/$bunfs/") ? [process.execPath] : [process.execPath, main]
}

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`

/** Links the kubectl of the PATH; suites that need none do not miss it. */
function linkKubectl(folder: string): void {
  const found = (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((one) => resolve(one))
    .filter((one) => one !== folder)
    .map((one) => join(one, "kubectl"))
    .find(existsSync)
  const link = join(folder, "kubectl")
  if (found === undefined || existsSync(link)) return
  rmSync(link, { force: true })
  symlinkSync(found, link)
}

const group: CommandGroup = {
  summary: "Programs for suites on envtest: etcd and kube-apiserver that are k3ts",
  commands: { make, etcd, "kube-apiserver": kubeApiServer },
}

export default group
