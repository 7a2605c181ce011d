import { Buffer } from "node:buffer"
import { dirname, join } from "node:path"
import { command, type Invocation } from "../command/command.ts"
import { boolFlag, durationFlag, stringFlag, stringSliceFlag } from "../command/flag.ts"
import { typedObject } from "../printers/printer.ts"
import { printerOf, printFlags } from "../printers/print-flags.ts"
import type { Output } from "../printers/output.ts"
import { TextOutput } from "../printers/output.ts"
import { listItems } from "../resource/list-items.ts"
import { isList, type Unstructured } from "../rest/json.ts"
import { messageFor } from "../errors/report.ts"

const flags = {
  ...printFlags("json"),
  "all-namespaces": boolFlag(false, "If true, dump all namespaces. Then --namespaces does not count.", {
    shorthand: "A",
  }),
  namespaces: stringSliceFlag([], "The namespaces to dump, between commas."),
  "output-directory": stringFlag("", "The folder to write files to. Without it, or with '-', everything is printed"),
  "pod-running-timeout": durationFlag(
    20_000,
    "How long to wait (like 5s, 2m, or 3h, higher than zero) until at least one pod is running",
  ),
}

/** What is dumped of each namespace: the file, and the path of the list. */
const LISTS = [
  ["events", "/api/v1", "events"],
  ["replication-controllers", "/api/v1", "replicationcontrollers"],
  ["services", "/api/v1", "services"],
  ["daemonsets", "/apis/apps/v1", "daemonsets"],
  ["deployments", "/apis/apps/v1", "deployments"],
  ["replicasets", "/apis/apps/v1", "replicasets"],
  ["pods", "/api/v1", "pods"],
] as const

interface Pod extends Unstructured {
  readonly spec?: {
    readonly initContainers?: readonly { readonly name: string }[]
    readonly containers?: readonly { readonly name: string }[]
  }
}

/** Source: kubectl pkg/cmd/clusterinfo/clusterinfo_dump.go. */
export const dumpCommand = command({
  use: "dump",
  short: "Dump what helps to find faults of a cluster",
  long: `
Dump what helps to find faults of a cluster. Everything is printed, unless --output-directory names a folder for files. Only the current namespace and 'kube-system' are dumped, unless --namespaces names others, or --all-namespaces dumps all.

 The logs of all pods are dumped too, each below the names of its namespace and pod.`,
  example: `
# Print the state of the cluster
kubectl cluster-info dump

# Write the state of the cluster to /path/to/cluster-state
kubectl cluster-info dump --output-directory=/path/to/cluster-state

# Print that of all namespaces
kubectl cluster-info dump --all-namespaces

# Write that of some namespaces to /path/to/cluster-state
kubectl cluster-info dump --namespaces default,kube-system --output-directory=/path/to/cluster-state`,
  flags,
  async run(invocation) {
    const { flags: given, changed, factory, out } = invocation
    const printer = await printerOf(given, "", {
      readFile: (path) => factory.readFile(path),
      outputIsSet: changed("output"),
    })
    if (given["pod-running-timeout"] <= 0) throw new Error("--pod-running-timeout must be higher than zero")
    const client = await factory.client()
    const { namespace: current } = await factory.namespace()
    const folder = given["output-directory"] === "-" ? "" : given["output-directory"]
    const ending = ({ json: ".json", yaml: ".yaml" } as Readonly<Record<string, string>>)[given.output] ?? ".txt"
    const list = (path: string) => client.object({ method: "GET", path, accept: "application/json" })
    const dump = async (file: string, object: Unstructured) => {
      const text = new TextOutput()
      await printer.print(object, text)
      await write(invocation, folder, `${file}${ending}`, text.text)
    }
    await dump("nodes", typed(await list("/api/v1/nodes")))
    for (const namespace of await namespacesOf(invocation, current))
      for (const [file, root, resource] of LISTS) {
        const found = typed(await list(`${root}/namespaces/${namespace}/${resource}`))
        await dump(join(namespace, file), found)
        if (resource !== "pods" || !isList(found)) continue
        for (const pod of listItems(found)) await dumpLogs(invocation, folder, pod)
      }
    if (folder !== "") await out.write(`Cluster info dumped to ${folder}\n`)
  },
})

/** The list in the order of Go's struct, in which an empty list is null. */
function typed(list: Unstructured): Unstructured {
  const items = (list["items"] ?? []) as readonly Unstructured[]
  const { kind = "", apiVersion = "", metadata = {} } = list
  return typedObject({ kind, apiVersion, metadata, items: items.length === 0 ? null : items })
}

async function namespacesOf(
  { flags: given, factory }: Invocation<typeof flags>,
  current: string,
): Promise<readonly string[]> {
  if (!given["all-namespaces"]) return given.namespaces.length > 0 ? given.namespaces : ["kube-system", current]
  const client = await factory.client()
  const { items = [] } = await client.object({ method: "GET", path: "/api/v1/namespaces" })
  return (items as readonly Unstructured[]).map(({ metadata }) => metadata?.name ?? "")
}

async function write(
  { environment, out }: Invocation<typeof flags>,
  folder: string,
  file: string,
  text: string,
): Promise<void> {
  if (folder === "") return out.write(text)
  const path = join(folder, file)
  await environment.files.mkdir(dirname(path), { recursive: true, mode: 0o755 })
  await environment.files.write(path, text)
}

async function dumpLogs(invocation: Invocation<typeof flags>, folder: string, pod: Pod): Promise<void> {
  const { name = "", namespace = "" } = pod.metadata ?? {}
  const containers = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])]
  const client = await invocation.factory.client()
  const logs: Output & { readonly text: string } = new TextOutput()
  for (const container of containers) {
    const about = `logs for container ${container.name} of pod ${namespace}/${name} ====\n`
    await logs.write(`==== START ${about}`)
    try {
      const path = `/api/v1/namespaces/${namespace}/pods/${name}/log`
      // As one piece: of a log that breaks off, nothing is written.
      const { body } = await client.stream({ method: "GET", path, query: { container: container.name } })
      await logs.write(Buffer.concat(await Array.fromAsync(body)))
    } catch (err) {
      await logs.write(`Request log error: ${messageFor(err).replace(/^Error from server[^:]*: /, "")}\n`)
    }
    await logs.write(`==== END ${about}`)
  }
  await write(invocation, folder, join(namespace, name, "logs.txt"), logs.text)
}
