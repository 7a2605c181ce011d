import { realClock } from "../../../pkg/clock/real.ts"
import { checkHost } from "../checks/checks.ts"
import type { Finding } from "../checks/finding.ts"
import { defineCommand } from "../cli/command.ts"
import { oneOf } from "../cli/flags.ts"
import { serverFlags } from "../server-flags.ts"

const {
  config,
  "data-dir": dataDir,
  "bind-address": bindAddress,
  "cluster-cidr": clusterCidr,
  "https-listen-port": port,
  "write-kubeconfig": kubeconfig,
  "disable-agent": disableAgent,
  "container-runtime-endpoint": runtime,
  "default-local-storage-path": storage,
} = serverFlags

export default defineCommand({
  summary: "Check whether this machine has what k3ts needs, and say how to mend what it lacks",
  details: "Changes nothing. The exit code is 1 when something is missing.",
  flags: {
    config,
    "data-dir": dataDir,
    "bind-address": bindAddress,
    "cluster-cidr": clusterCidr,
    "https-listen-port": port,
    "write-kubeconfig": kubeconfig,
    "disable-agent": disableAgent,
    "container-runtime-endpoint": runtime,
    "default-local-storage-path": storage,
    output: oneOf(["text", "json"], "text", "Form of the output"),
  },
  async run({ flags, print }) {
    const findings = await checkHost(flags, realClock.now())
    const lacking = findings.filter(({ status }) => status === "missing").length
    if (flags.output === "json") print(`${JSON.stringify({ ok: lacking === 0, findings }, undefined, 2)}\n`)
    else print(`${findings.map(line).join("\n")}\n\n${summary(findings)}\n`)
    return lacking === 0 ? 0 : 1
  },
})

const line = ({ name, status, detail, mend }: Finding): string =>
  `${status.padEnd(8)} ${name}: ${detail}${mend === undefined ? "" : `\n${" ".repeat(9)}mend: ${mend}`}`

function summary(findings: readonly Finding[]): string {
  const count = (wanted: Finding["status"]) => findings.filter(({ status }) => status === wanted).length
  return `${count("found")} found, ${count("warning")} with a warning, ${count("missing")} missing`
}
