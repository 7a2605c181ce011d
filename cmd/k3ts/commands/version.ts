import { writeYaml } from "../../../pkg/yaml/write.ts"
import {
  buildDate,
  gitCommit,
  gitTreeState,
  GIT_VERSION,
  KUBERNETES_MINOR,
  version,
} from "../../../pkg/version/version.ts"
import { defineCommand } from "../cli/command.ts"
import { oneOf } from "../cli/flags.ts"

export default defineCommand({
  summary: "Show the version",
  flags: { output: oneOf(["text", "json", "yaml"], "text", "Form of the output", { short: "o" }) },
  run({ flags, print }) {
    const info = {
      version,
      gitCommit,
      gitTreeState,
      buildDate,
      kubernetes: { gitVersion: GIT_VERSION, ...KUBERNETES_MINOR },
      runtime: process.versions.bun === undefined ? `node ${process.versions.node}` : `bun ${process.versions.bun}`,
      platform: `${process.platform}/${process.arch === "x64" ? "amd64" : process.arch}`,
    }
    // A program that is run from source knows none of them.
    const build = [gitCommit.slice(0, 12), gitTreeState === "dirty" ? "changed" : "", gitCommit && buildDate]
      .filter((part) => part !== "")
      .join(", ")
    if (flags.output === "json") print(`${JSON.stringify(info, undefined, 2)}\n`)
    else if (flags.output === "yaml") print(writeYaml(info))
    else
      print(
        `k3ts ${version}${build === "" ? "" : ` (${build})`}\n` +
          `Kubernetes ${GIT_VERSION}\n${info.runtime}, ${info.platform}\n`,
      )
    return Promise.resolve(0)
  },
})
