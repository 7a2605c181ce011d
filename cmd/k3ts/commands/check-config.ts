import { realClock } from "../../../pkg/clock/real.ts"
import { checkHost } from "../checks/checks.ts"
import type { Finding } from "../checks/finding.ts"
import { defineCommand } from "../cli/command.ts"
import { oneOf } from "../cli/flags.ts"
import { serverFlags } from "../config/server-flags.ts"

export default defineCommand({
  summary: "Check whether this machine has what k3ts needs, and say how to mend what it lacks",
  details: "Changes nothing. The exit code is 1 when something is missing.",
  flags: {
    config: serverFlags.config,
    "data-dir": serverFlags["data-dir"],
    "bind-address": serverFlags["bind-address"],
    "cluster-cidr": serverFlags["cluster-cidr"],
    "https-listen-port": serverFlags["https-listen-port"],
    "write-kubeconfig": serverFlags["write-kubeconfig"],
    "disable-agent": serverFlags["disable-agent"],
    "container-runtime-endpoint": serverFlags["container-runtime-endpoint"],
    "default-local-storage-path": serverFlags["default-local-storage-path"],
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
