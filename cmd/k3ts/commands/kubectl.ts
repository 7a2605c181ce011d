import type { Command } from "../cli/command.ts"

/** kubectl reads its own command line; main.ts runs it without what other commands need. */
const kubectlCommand: Command = {
  summary: "Run kubectl, for this cluster or any other",
  positionals: "ARGUMENT…",
  flags: {},
  details:
    "All commands and flags are those of kubectl (docs/kubectl.md); the kubeconfig is found as by kubectl, or is " +
    "/etc/k3ts/k3ts.yaml where it may be read. This program under the name kubectl is kubectl too.",
  choices: [],
  async invoke({ argv }) {
    const { kubectl } = await import("../run-kubectl.ts")
    return kubectl(argv)
  },
}

export default kubectlCommand
