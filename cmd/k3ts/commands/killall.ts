import { realClock } from "../../../pkg/clock/real.ts"
import { defineCommand } from "../cli/command.ts"
import { killAll, leftBehind } from "../process/killall.ts"
import { serverFlags, configFlag, dataDirFlag } from "../config/server-flags.ts"

export default defineCommand({
  summary: "Stop the server and all its containers, and remove what they left on the host",
  details:
    "Removes containers, Service rules, mounts, interfaces, network namespaces and cgroups that k3ts made, " +
    "and nothing else.\nThe cluster's data stays: the next `k3ts server` starts its pods again.",
  flags: {
    config: configFlag(),
    "data-dir": dataDirFlag(),
    "default-local-storage-path": serverFlags["default-local-storage-path"],
  },
  async run({ flags, print }) {
    requireRoot("killall")
    const { "data-dir": dataDir, "default-local-storage-path": storage } = flags
    const left = await killAll({ dataDir, storage, clock: realClock, tell: (what) => print(`${what}\n`) })
    print(leftBehind(left))
    return left.length === 0 ? 0 : 1
  },
})

/** @throws Error */
export function requireRoot(command: string): void {
  if (process.getuid?.() !== 0) throw new Error(`${command} must be run as root: sudo k3ts ${command}`)
}
