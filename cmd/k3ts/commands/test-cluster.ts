import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { createLogger } from "../../../pkg/log/log.ts"
import { compileAsUsual } from "../../../pkg/runtime/jit.ts"
import { startCluster } from "../../../components/cluster/testing/cluster.ts"
import type { ClusterOptions } from "../../../components/cluster/testing/options/options.ts"
import { boolean, list, value } from "../cli/flags.ts"
import { notEmpty, reading, word } from "../cli/flag-type.ts"
import { alone, controlled, type Beside } from "../control/beside.ts"
import { featureGates } from "../cli/values.ts"
import { codeOf, runBeside, untilSignal, withKubectl } from "../process/run-beside.ts"
import { UsageError } from "../cli/usage-error.ts"
import { defineCommand } from "../cli/command.ts"

const MOST_NODES = 1000
/** The cluster of suites that take a running API server and play all other parts themselves. */
const API_ONLY: ClusterOptions = {
  nodes: 0,
  components: { controllers: false, scheduler: false },
  admission: { disabled: ["ServiceAccount"] },
}
const nodeCount = reading((text) => (/^\d+$/.test(text) ? Number(text) : undefined), "must be a whole number").refine(
  (count) => count <= MOST_NODES,
  `must be at most ${MOST_NODES}`,
)

export default defineCommand({
  summary: "Run a command with KUBECONFIG set to a cluster in memory, which ends with the command",
  details: [
    "k3ts test-cluster --nodes 3 -- go test ./...",
    "kubectl on its PATH is this program.",
    "Its nodes are simulated: pods are scheduled, start, become ready and answer logs and exec, but no " +
      "program runs in them. Neither root nor a container runtime is needed.",
    "Without a command it prints the path of the kubeconfig and waits for Ctrl-C. The exit code is the command's.",
  ].join("\n"),
  flags: {
    nodes: value(nodeCount.optional(), "How many simulated nodes", { placeholder: "N", defaultText: "1" }),
    "api-only": boolean(
      "Only the API server, as envtest has it: no controllers, scheduler, nodes and ServiceAccount admission",
    ),
    "feature-gates": value(featureGates.prefault(""), "Feature gates to switch on or off", {
      placeholder: "NAME=BOOL,…",
      defaultText: "as in Kubernetes 1.36",
    }),
    "runtime-config": list(notEmpty, "Version of the API to serve that is off by default", {
      placeholder: "GROUP/VERSION=BOOL",
    }),
    control: boolean("Open a control channel for the command: time, faults, snapshots (docs/testing.md)"),
    clock: value(word(["virtual", "real"]).optional(), "Whose time the cluster has", {
      choices: ["virtual", "real"],
      defaultText: "real; virtual with --control, which moves it",
    }),
    debug: boolean("Show what the cluster does"),
  },
  positionals: { name: "COMMAND…", min: 0, max: Infinity },
  async run({ flags, args, print }) {
    if (flags["api-only"] && flags.nodes !== undefined)
      throw new UsageError("--api-only has no nodes: leave --nodes out, or --api-only")
    if (flags.clock === "virtual" && !flags.control)
      throw new UsageError("--clock virtual needs --control, by which time is moved")
    const log = createLogger({
      clock: realClock,
      format: "text",
      level: flags.debug ? "debug" : "error",
      write: (line) => void process.stderr.write(`${line}\n`),
    })
    const folder = mkdtempSync(join(tmpdir(), "k3ts-test-cluster-"))
    const clock = flags.clock ?? (flags.control ? "virtual" : "real")
    const options: ClusterOptions = {
      clock,
      ...(flags["api-only"] ? API_ONLY : { nodes: flags.nodes ?? 1 }),
      features: flags["feature-gates"],
      runtimeConfig: flags["runtime-config"],
      log,
      history: "10m",
      // On virtual time the seed makes the history, so it is that of K3TS_SEED or one that is told.
      ...(clock === "real" ? { seed: Math.floor(systemRandom.next() * 2 ** 31) } : {}),
    }
    let running: Beside | undefined
    try {
      const stopped = untilSignal()
      const cluster = await startCluster(options)
      running = await (flags.control ? controlled : alone)(cluster, folder, options)
      compileAsUsual()
      const variables = { ...running.variables, ...withKubectl(folder) }
      if (args.length > 0) return await runBeside(args, variables, stopped)
      const lines = Object.entries(running.variables).map(([name, value]) => `${name}=${value}\n`)
      print(flags.control ? lines.join("") : `${variables.KUBECONFIG}\n`)
      return codeOf(await stopped.first)
    } finally {
      await running?.stop().catch((err: unknown) => log.debug("The cluster ended with faults", { err }))
      rmSync(folder, { recursive: true, force: true })
    }
  },
})
