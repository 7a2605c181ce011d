import { existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs"
import { delimiter, join, resolve } from "node:path"
import { defineCommand, type CommandGroup } from "../cli/command.ts"
import { kubeApiServer } from "../test-assets/api-server.ts"
import { etcd } from "../test-assets/etcd.ts"
import { writeScript } from "../own-program.ts"
import { filePath } from "../cli/values.ts"
import { UsageError } from "../cli/usage-error.ts"

/** The programs of the folder that are commands of k3ts. */
const PROGRAMS = ["etcd", "kube-apiserver"] as const

const make = defineCommand({
  summary: "Make the folder of KUBEBUILDER_ASSETS, and print its path",
  details:
    "KUBEBUILDER_ASSETS=$(k3ts test-assets make ./bin/k3ts) go test ./...\n" +
    "The folder has etcd and kube-apiserver, which start this program, and kubectl: that of the PATH, or this program. So a " +
    "suite on envtest runs unchanged.",
  flags: {},
  positionals: { name: "DIR", min: 1, max: 1 },
  run({ args, print }) {
    const read = filePath.read(args[0])
    if ("fault" in read) throw new UsageError(`the folder ${read.fault}`)
    const folder = read.value
    mkdirSync(folder, { recursive: true })
    for (const program of PROGRAMS) {
      writeScript(join(folder, program), ["test-assets", program])
    }
    linkKubectl(folder)
    print(`${folder}\n`)
    return Promise.resolve()
  },
})

/** Links the kubectl of the PATH; where there is none, this program is kubectl. */
function linkKubectl(folder: string): void {
  const found = (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((one) => resolve(one))
    .filter((one) => one !== folder)
    .map((one) => join(one, "kubectl"))
    .find(existsSync)
  const link = join(folder, "kubectl")
  if (existsSync(link)) return
  rmSync(link, { force: true })
  if (found === undefined) writeScript(link, ["kubectl"])
  else symlinkSync(found, link)
}

const group: CommandGroup = {
  summary: "Programs for suites on envtest: etcd and kube-apiserver that are k3ts",
  commands: { make, etcd, "kube-apiserver": kubeApiServer },
}

export default group
