import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { ClusterOptions } from "../../../components/cluster/testing/options/options.ts"
import { compileAsUsual } from "../../../pkg/runtime/jit.ts"
import { defineCommand } from "../cli/command.ts"
import { boolean } from "../cli/flags.ts"
import { alone, controlled, type Beside } from "../control/beside.ts"
import { sourceFlags } from "../forecast/source.ts"
import { codeOf, runBeside, untilSignal, withKubectl } from "../process/run-beside.ts"

export default defineCommand({
  summary: "Run a command beside a copy of the cluster in memory, which ends with the command",
  details: [
    "k3ts fork -- kubectl delete deployment web",
    "k3ts fork -- sh",
    "KUBECONFIG is set to the copy, and kubectl on PATH is this program. Its nodes are simulated and of the same sizes; " +
      "no program runs in its pods. Nothing that happens in it reaches the cluster, of which it needs only the right to " +
      "list objects.",
    "Without a command it prints the variables and waits for Ctrl-C. The exit code is the command's.",
  ].join("\n"),
  flags: {
    ...sourceFlags,
    control: boolean("Stop the copy's time, and open a control channel that moves it (docs/testing.md)"),
  },
  positionals: { name: "COMMAND…", min: 0, max: Infinity },
  async run({ flags, args, print }) {
    compileAsUsual()
    const [{ readSource }, { startFork }] = await Promise.all([
      import("../forecast/source.ts"),
      import("../../../components/cluster/testing/forecast/fork.ts"),
    ])
    const { content, left } = await readSource(flags)
    const options: ClusterOptions = { clock: flags.control ? "virtual" : "real", history: "1h", seed: 1 }
    const fork = await startFork(content, options)
    const folder = mkdtempSync(join(tmpdir(), "k3ts-fork-"))
    let beside: Beside | undefined
    try {
      for (const text of [...left, ...fork.left]) process.stderr.write(`k3ts: not in the copy: ${text}\n`)
      beside = await (flags.control ? controlled : alone)(fork.cluster, folder, options)
      const stopped = untilSignal()
      if (args.length > 0) return await runBeside(args, { ...beside.variables, ...withKubectl(folder) }, stopped)
      print(
        Object.entries(beside.variables)
          .map(([name, value]) => `${name}=${value}\n`)
          .join(""),
      )
      return codeOf(await stopped.first)
    } finally {
      await beside?.stop().catch(() => undefined)
      rmSync(folder, { recursive: true, force: true })
    }
  },
})
