import { compileAsUsual } from "../../../pkg/runtime/jit.ts"
import { defineCommand, type Command } from "../cli/command.ts"
import { oneOf, value } from "../cli/flags.ts"
import { duration } from "../cli/values.ts"
import { ownFirst } from "../forecast/own-flags.ts"
import type { Change } from "../../../components/cluster/testing/forecast/forecast.ts"
import { sourceFlags, type Source } from "../forecast/source.ts"
import type { Upgrade } from "../forecast/upgrade/upgrade.ts"
import { kubectlOutput } from "../run-kubectl.ts"

const flags = {
  ...sourceFlags,
  for: value(duration.prefault("15m"), "How long the change is followed, in the copy's time", {
    placeholder: "TIME",
    defaultText: "15m",
  }),
  output: oneOf(["text", "json"], "text", "Form of the output", { short: "o" }),
}

const command = defineCommand({
  summary: "Tell what a change would do, by making it in a copy of the cluster",
  details: [
    "k3ts what-if drain node-1",
    "k3ts what-if lose node-1",
    "k3ts what-if apply -f web.yaml",
    "k3ts what-if upgrade 1.37 --drain",
    "k3ts what-if --snapshot FILE --for 1h -o json scale deployment web --replicas 9",
    "The change is any command of kubectl, the loss of nodes, or an upgrade: to the next minor version of Kubernetes by " +
      "default, node by node. The copy is in memory and has simulated nodes of the " +
      "same sizes; nothing of it reaches the cluster, of which it needs only the right to list objects.",
    "The exit code is 1 where the change fails, pods are not well afterwards, containers restart, or a Service has no " +
      "endpoint for some time, or an upgrade removes versions that are in use, or skips a minor version.",
  ].join("\n"),
  flags,
  positionals: { name: "CHANGE…", min: 1, max: Infinity },
  async run({ flags, args, print }) {
    compileAsUsual()
    const [{ readSource }, { changeOf }, { startFork }, { forecast, LEFT_OUT, SETTLING }, { forecastText, isTrouble }] =
      await Promise.all([
        import("../forecast/source.ts"),
        import("../forecast/change.ts"),
        import("../../../components/cluster/testing/forecast/fork.ts"),
        import("../../../components/cluster/testing/forecast/forecast.ts"),
        import("../../../components/cluster/testing/forecast/forecast-text.ts"),
      ])
    const namespace = flags.snapshot === undefined ? await namespaceOf(flags) : undefined
    const asked = args[0] === "upgrade" ? await upgradeAsked(args.slice(1)) : changeOf(args, namespace)
    const source = await readSource(flags)
    const { content, left } = source
    const {
      change,
      upgrade,
      text,
      isTooMuch = false,
    }: Asked = typeof asked === "function" ? { change: asked } : await asked.of(source)
    const fork = await startFork(content, { seed: 1, components: LEFT_OUT })
    await fork.cluster.advance(SETTLING)
    const found = await forecast(fork.cluster, change, flags.for * 1000)
    const missing = [...left, ...fork.left]
    const told = { ...found, ...(upgrade === undefined ? {} : { upgrade }), left: missing }
    if (flags.output === "json") print(`${JSON.stringify(told, undefined, 2)}\n`)
    else {
      print(forecastText(found, args.join(" "), missing))
      if (text !== undefined) print(text)
    }
    return isTrouble(found) || isTooMuch ? 1 : 0
  },
})

/** What is asked about a change: made in the copy, and what is known of it beside. */
interface Asked {
  readonly change: Change
  readonly upgrade?: Upgrade
  readonly text?: string
  /** Whether what is known beside is reason enough not to make it. */
  readonly isTooMuch?: boolean
}

/** Reads the words behind `upgrade`. @throws UsageError */
async function upgradeAsked(words: readonly string[]): Promise<{ of(source: Source): Promise<Asked> }> {
  const [{ upgradeFrom, upgradeWords }, { nodesInTurn }, { upgradeText }] = await Promise.all([
    import("../forecast/upgrade/upgrade.ts"),
    import("../forecast/upgrade/nodes-in-turn.ts"),
    import("../forecast/upgrade/upgrade-text.ts"),
  ])
  const read = upgradeWords(words)
  return {
    async of(source) {
      const upgrade = await upgradeFrom(source, read)
      const isTooMuch = upgrade.gone.length > 0 || upgrade.tooFar.length > 0
      return { change: nodesInTurn(upgrade.drains), upgrade, text: upgradeText(upgrade), isTooMuch }
    },
  }
}

/** The namespace of the kubeconfig's context, if it has one. */
async function namespaceOf({ kubeconfig, context }: { kubeconfig?: string | undefined; context?: string | undefined }) {
  const { code, stdout } = await kubectlOutput([
    "config",
    "view",
    "--minify",
    "-o=jsonpath={..namespace}",
    ...(kubeconfig === undefined ? [] : [`--kubeconfig=${kubeconfig}`]),
    ...(context === undefined ? [] : [`--context=${context}`]),
  ])
  return code === 0 && stdout !== "" ? stdout : undefined
}

const whatIf: Command = {
  ...command,
  invoke: (invocation) => command.invoke({ ...invocation, argv: ownFirst(invocation.argv, Object.keys(flags)) }),
}
export default whatIf
