import { spawn, type ChildProcess } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { constants, tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { createLogger } from "../../../pkg/log/log.ts"
import { compileAsUsual } from "../../../pkg/runtime/jit.ts"
import { startCluster, type Cluster } from "../../../components/cluster/testing/cluster.ts"
import type { ClusterOptions } from "../../../components/cluster/testing/options/options.ts"
import { boolean, value } from "../cli/flags.ts"
import { reading, word } from "../cli/flag-type.ts"
import { featureGates } from "../cli/values.ts"
import { writeScript } from "../own-program.ts"
import { UsageError } from "../cli/usage-error.ts"
import { defineCommand } from "../cli/command.ts"

const MOST_NODES = 1000
/** The cluster of suites that take a running API server and play all other parts themselves. */
const API_ONLY: ClusterOptions = {
  nodes: 0,
  components: { controllers: false, scheduler: false },
  admission: { disabled: ["ServiceAccount"] },
}
/** The exit codes of a shell for a command that it cannot find, and for one that it may not run. */
const NOT_FOUND = 127
const NOT_EXECUTABLE = 126

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
      log,
      history: "10m",
      // On virtual time the seed makes the history, so it is that of K3TS_SEED or one that is told.
      ...(clock === "real" ? { seed: Math.floor(systemRandom.next() * 2 ** 31) } : {}),
    }
    let running: Running | undefined
    try {
      const stopped = untilSignal()
      const cluster = await startCluster(options)
      running = await (flags.control ? controlled : alone)(cluster, folder, options)
      compileAsUsual()
      const variables = { ...running.variables, ...withKubectl(folder) }
      if (args.length > 0) return await runCommand(args, variables, stopped)
      const lines = Object.entries(running.variables).map(([name, value]) => `${name}=${value}\n`)
      print(flags.control ? lines.join("") : `${variables.KUBECONFIG}\n`)
      return codeOf(await stopped.first)
    } finally {
      await running?.stop().catch((err: unknown) => log.debug("The cluster ended with faults", { err }))
      rmSync(folder, { recursive: true, force: true })
    }
  },
})

/** Puts this program, as kubectl, in front of the PATH. */
function withKubectl(folder: string): { readonly PATH: string } {
  const bin = join(folder, "bin")
  mkdirSync(bin)
  writeScript(join(bin, "kubectl"), ["kubectl"])
  return { PATH: `${bin}${delimiter}${process.env["PATH"] ?? ""}` }
}

/** A cluster, or several, beside which the command runs. */
interface Running {
  /** What the command gets. */
  readonly variables: Readonly<Record<string, string>> & { readonly KUBECONFIG: string }
  stop(): Promise<void>
}

async function alone(cluster: Cluster, folder: string): Promise<Running> {
  const kubeconfig = join(folder, "kubeconfig.yaml")
  writeFileSync(kubeconfig, (await cluster.listen()).kubeconfig, { mode: 0o600 })
  return { variables: { KUBECONFIG: kubeconfig }, stop: () => cluster.stop() }
}

async function controlled(cluster: Cluster, folder: string, options: ClusterOptions): Promise<Running> {
  const { ControlledClusters } = await import("../control/controlled-clusters.ts")
  const clusters = new ControlledClusters(folder, options)
  const kubeconfig = await clusters.start(cluster)
  const { url, token } = clusters
  return {
    variables: { KUBECONFIG: kubeconfig, K3TS_CONTROL_URL: url, K3TS_CONTROL_TOKEN: token },
    stop: () => clusters.stop(),
  }
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const
type SignalName = (typeof SIGNALS)[number]

interface Signals {
  readonly first: Promise<SignalName>
  /** Calls `listener` for each signal, instead of ending the program. */
  onSignal(listener: (name: SignalName) => void): void
}

function untilSignal(): Signals {
  const { promise, resolve } = Promise.withResolvers<SignalName>()
  const listeners: ((name: SignalName) => void)[] = []
  for (const name of SIGNALS) {
    process.on(name, () => {
      resolve(name)
      for (const listener of listeners) listener(name)
    })
  }
  return { first: promise, onSignal: (listener) => void listeners.push(listener) }
}

/** Resolves with the exit code of the command. Signals are passed to the command, which decides what to do. */
function runCommand(
  [program = "", ...args]: readonly string[],
  variables: Running["variables"],
  signals: Signals,
): Promise<number> {
  return new Promise((resolve) => {
    const child: ChildProcess = spawn(program, args, { stdio: "inherit", env: { ...process.env, ...variables } })
    signals.onSignal((name) => child.kill(name))
    child.once("error", (err) => {
      process.stderr.write(`k3ts: cannot run ${program}: ${err.message}\n`)
      resolve("code" in err && err.code === "EACCES" ? NOT_EXECUTABLE : NOT_FOUND)
    })
    child.once("exit", (code, signal) => resolve(code ?? codeOf(signal ?? "SIGTERM")))
  })
}

/** Returns the exit code for a signal as shells do: 128 plus its number. */
const codeOf = (signal: NodeJS.Signals): number => 128 + (constants.signals[signal] ?? 0)
