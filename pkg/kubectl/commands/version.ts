import { command } from "../command/command.ts"
import { boolFlag, stringFlag } from "../command/flag.ts"
import type { ClientVersion } from "../environment/environment.ts"
import { goJson } from "../rest/json.ts"
import { writeYaml } from "../../yaml/write.ts"

/** The version of kustomize that kubectl 1.36 has, and whose behaviour `kubectl kustomize` has. */
const KUSTOMIZE_VERSION = "v5.8.1"

/** Source: kubectl pkg/cmd/version/version.go. */
export const versionCommand = command({
  use: "version",
  short: "Print the versions of client and server",
  long: "Print the versions of the client and of the server of the current context.",
  example: "# Print the versions of the client and of the server of the current context\nkubectl version",
  flags: {
    client: boolFlag(false, "If true, print the client's version only, without asking the server."),
    output: stringFlag("", "One of 'yaml' or 'json'.", { shorthand: "o" }),
  },
  async run({ flags, args, globals, factory, environment, out, errOut }) {
    if (args.length > 0 && !flags.client) throw new Error(`extra arguments: [${args.join(" ")}]`)
    if (!["", "yaml", "json"].includes(flags.output)) throw new Error("--output must be 'yaml' or 'json'")
    const clientVersion = environment.version
    let serverVersion: ClientVersion | undefined
    let failure: unknown
    const discovery = flags.client ? undefined : await factory.discovery()
    try {
      serverVersion = (await discovery?.serverVersion()) as ClientVersion | undefined
    } catch (err) {
      failure = err
    }
    const info = {
      clientVersion,
      kustomizeVersion: KUSTOMIZE_VERSION,
      ...(serverVersion === undefined ? {} : { serverVersion }),
    }
    if (flags.output === "yaml") await out.write(`${writeYaml(info)}\n`)
    else if (flags.output === "json") await out.write(`${goJson(info, { indent: "  ", sorted: false })}\n`)
    else
      await out.write(
        `Client Version: ${clientVersion.gitVersion}\nKustomize Version: ${KUSTOMIZE_VERSION}\n` +
          (serverVersion === undefined ? "" : `Server Version: ${serverVersion.gitVersion}\n`),
      )
    const skew = serverVersion === undefined ? undefined : skewWarning(clientVersion, serverVersion)
    if (skew !== undefined) {
      if (globals["warnings-as-errors"]) throw new Error(skew)
      await errOut.write(`Warning: ${skew}\n`)
    }
    if (failure !== undefined) throw failure
  },
})

/** Client and server may be one minor version apart. Source: kubectl pkg/cmd/version/skew_warning.go. */
function skewWarning(client: ClientVersion, server: ClientVersion): string | undefined {
  const [ours, theirs] = [client, server].map(({ gitVersion }) => /^v?(\d+)\.(\d+)/.exec(gitVersion))
  if (ours === undefined || theirs === undefined || ours === null || theirs === null) return undefined
  const isNear = ours[1] === theirs[1] && Math.abs(Number(ours[2]) - Number(theirs[2])) <= 1
  return isNear
    ? undefined
    : `version difference between client (${ours[1]}.${ours[2]}) and server (${theirs[1]}.${theirs[2]}) exceeds the supported minor version skew of +/-1`
}
