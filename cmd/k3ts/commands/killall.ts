import { realClock } from "../../../pkg/clock/real.ts"
import { defineCommand } from "../cli/command.ts"
import { killAll } from "../killall.ts"
import { configFlag, dataDirFlag } from "../server-flags.ts"

export default defineCommand({
  summary: "Stop the server and all its containers, and remove what they left on the host",
  details:
    "Removes containers, Service rules, mounts, interfaces, network namespaces and cgroups that k3ts made, " +
    "and nothing else.\nThe cluster's data stays: the next `k3ts server` starts its pods again.",
  flags: { config: configFlag(), "data-dir": dataDirFlag() },
  async run({ flags, print }) {
    requireRoot("killall")
    await killAll({ dataDir: flags["data-dir"], clock: realClock, tell: (what) => print(`${what}\n`) })
  },
})

/** @throws Error */
export function requireRoot(command: string): void {
  if (process.getuid?.() !== 0) throw new Error(`${command} must be run as root: sudo k3ts ${command}`)
}
