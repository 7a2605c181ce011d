/**
 * Runs a command against a server and an agent, each on a machine of its own (test/harness/machine.ts):
 *
 *   bun test/conformance/two-nodes.ts [--images FOLDER] [--registries FILE] -- COMMAND…
 *
 * The command finds the cluster by KUBECONFIG. FOLDER has archives of images, which both nodes get, and FILE is their
 * registries.yaml. Kubernetes' own conformance programs run this way (README.md), since many of them need two nodes.
 * Needs root, and dist/k3ts.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { copyFileSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { Node } from "../../pkg/api/core/v1/node/node.ts"
import { agentToken, startAgent } from "../harness/agent.ts"
import { startCluster } from "../harness/cluster.ts"
import { startMachines, type Machine } from "../harness/machine.ts"
import { EXECUTABLE } from "../harness/server.ts"

const { values, positionals } = parseArgs({
  options: { images: { type: "string" }, registries: { type: "string" } },
  allowPositionals: true,
})
const [program, ...args] = positionals
if (program === undefined) throw new Error("Usage: two-nodes.ts [--images FOLDER] [--registries FILE] -- COMMAND…")

await using machines = await startMachines()
const first = await machines.add("server")
const second = await machines.add("agent")
const { registries } = values
if (registries !== undefined)
  for (const { folder } of [first, second]) copyFileSync(registries, join(folder, "files/etc/k3ts/registries.yaml"))
await using cluster = await startCluster({ machine: first })
await using _agent = startAgent({
  machine: second,
  server: `https://${first.address}:6443`,
  token: agentToken(cluster.server),
})
const isReady = ({ status }: Node) =>
  status.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true
await cluster.until(Node, second.name, isReady)
const folder = values.images
if (folder !== undefined) for (const machine of [first, second]) await importImages(machine, folder)

const command = spawn(program, args, {
  stdio: "inherit",
  env: { ...process.env, KUBECONFIG: cluster.server.kubeconfig },
})
const [code] = (await once(command, "exit")) as [number | null]
process.exitCode = code ?? 1

async function importImages(machine: Machine, folder: string): Promise<void> {
  const archives = readdirSync(folder).filter((name) => name.endsWith(".tar"))
  const paths = archives.map((name) => join(folder, name))
  const { code, err } = await machine.run(EXECUTABLE, "images", "import", "--data-dir", machine.dataDir, ...paths)
  if (code !== 0) throw new Error(`${machine.name}: the images of ${folder} cannot be imported: ${err.trim()}`)
}
