import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { errorMessage } from "../../pkg/errors/error-message.ts"
import { buildImageArchive } from "../../pkg/oci/archive.ts"
import { EXECUTABLE, startServer } from "../harness/server.ts"
import { CACHE } from "./cache.ts"
import { difference, inventory } from "./inventory.ts"
import { Had } from "./origins/had.ts"
import { errorsIn } from "./server-log.ts"
import type { Program } from "./program.ts"
import { Scenario } from "./scenario.ts"

const LOOK = `kubectl get pods -A -o wide
kubectl events -A | tail -n 40
kubectl get pods -A -o jsonpath='{range .items[*]}{.metadata.namespace} {.metadata.name}{"\\n"}{end}' | while read -r namespace pod; do
  echo "==== $pod"
  kubectl -n "$namespace" logs "$pod" --all-containers --tail=30 || true
done`
/** For the garbage collector, and for pods that take their whole grace period to end. */
const REMOVAL_SECONDS = 90

/**
 * Has a program, starts a cluster, runs the scenario, and compares what the cluster has afterwards with what it had
 * before. The server's log is kept in the cache, as NAME.log.
 * @throws Error that says what was not as it must be; also when the server's log has an error
 */
export async function attempt(program: Program, sources: string | undefined): Promise<void> {
  const had = await Had.of(program.from, CACHE)
  const folder = mkdtempSync(join(tmpdir(), "k3ts-ecosystem-"))
  const log = join(folder, "k3ts.log")
  try {
    const images = program.images?.(had) ?? []
    await using server = await startServer({
      agent: program.on === "node" ? true : "simulated",
      flags: ["--log", log, ...(program.flags ?? [])],
      prepare(dataDir) {
        if (images.length === 0) return
        mkdirSync(join(dataDir, "agent/images"), { recursive: true })
        writeFileSync(join(dataDir, "agent/images/ecosystem.tar"), buildImageArchive(...images))
      },
    })
    const scripts = join(folder, "scripts")
    mkdirSync(scripts)
    const at = new Scenario({ had, kubeconfig: server.kubeconfig, folder: scripts, executable: EXECUTABLE, sources })
    await at.step(
      "Waiting for the cluster",
      240,
      `until_true 180 kubectl wait node --all --for=condition=Ready --timeout=1s
until_true 60 kubectl get serviceaccount default
until_true 60 kubectl get configmap kube-root-ca.crt
kubectl wait apiservice --all --for=condition=Available --timeout=60s`,
    )
    const before = await inventory(EXECUTABLE, server.kubeconfig)
    await program.run(at).catch(async (err: unknown) => {
      // What an administrator would look at first.
      console.error(await at.step("Looking why", 60, LOOK).catch(errorMessage))
      throw err
    })
    await expectNothingLeft(before, server.kubeconfig)
    console.log(`    The server has ${Math.round(server.residentMb())} MB.`)
    const errors = errorsIn(readFileSync(log, "utf8"))
    if (errors.length > 0) throw new Error(`The server's log has errors:\n${errors.join("\n")}`)
  } finally {
    // For whoever looks for the cause of a failure, or reads a log as an administrator.
    if (existsSync(log)) cpSync(log, join(CACHE, `${program.name}.log`))
    rmSync(folder, { recursive: true, force: true })
  }
}

async function expectNothingLeft(before: readonly string[], kubeconfig: string): Promise<void> {
  const end = performance.now() + REMOVAL_SECONDS * 1000
  for (;;) {
    const left = difference(before, await inventory(EXECUTABLE, kubeconfig))
    if (left.length === 0) return
    if (performance.now() > end) throw new Error(`After the removal the cluster is not as before:\n${left.join("\n")}`)
    await Bun.sleep(1000)
  }
}
