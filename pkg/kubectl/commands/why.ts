import { EXIT_CODE, stateOf, type Answer } from "../../why/answer.ts"
import type { WhyApi } from "../../why/reading/reader.ts"
import { command, type Invocation } from "../command/command.ts"
import { stringFlag } from "../command/flag.ts"
import { SilentExit } from "../errors/errors.ts"

const flags = {
  output: stringFlag("", "Output format: json, or nothing for text.", { shorthand: "o" }),
  from: stringFlag("", "The pod or workload, as KIND/NAME, whose connections to the object are to be explained."),
  port: stringFlag("", "The port that --from connects to; all ports of the object where it is left out."),
}

/** Differs from upstream, which has no such command. */
export const whyCommand = command({
  use: "why [KIND/NAME]",
  noFlagsInUse: true,
  short: "Tell why an object is not well",
  long: `
Tell why an object is not well: the chain from it to the cause, through its owners and needs, and what would mend it.

 Without KIND/NAME the whole cluster is looked at, and what is unwell is listed, the worst first.

 The exit code is 0 for an object that is well, or with which nothing is wrong yet, 1 for one that is not well, and 2 where that cannot be told.`,
  example: `
# Tell why a deployment has no pods that are ready
kubectl why deployment/web

# Tell why a pod does not reach a service
kubectl why service/db --from=pod/web-0 --port=5432

# Tell what is unwell in the whole cluster
kubectl why

# Tell it to a program
kubectl why pod/web-0 -n team -o json`,
  flags,
  run,
})

async function run(invocation: Invocation<typeof flags>): Promise<void> {
  const { flags: values, args, factory, out, usageError } = invocation
  if (args.length > 2) throw usageError(`unexpected arguments: ${args.slice(2).join(" ")}`)
  if (values.output !== "" && values.output !== "json")
    throw usageError(
      `unable to match a printer suitable for the output format ${JSON.stringify(values.output)}, allowed formats are: json`,
    )
  const api = await apiOf(invocation)
  const { namespace, explicit } = await factory.namespace()
  if (args.length === 0) return overview(invocation, explicit ? namespace : undefined)
  const { objectNamed, why, whyNot } = await import("../../why/why.ts")
  const object = await objectNamed(api, args.join("/"), namespace)
  const from = values.from === "" ? undefined : await objectNamed(api, values.from, namespace)
  const port = values.port === "" ? undefined : Number(values.port)
  const answer = await (from === undefined ? why(api, object) : whyNot(api, object, from, port))
  await print(answer)
  const code = EXIT_CODE[stateOf(answer)]
  if (code !== 0) throw new SilentExit(code)

  async function print(one: Answer): Promise<void> {
    if (values.output === "json") return out.write(`${JSON.stringify({ state: stateOf(one), ...one }, undefined, 2)}\n`)
    const { answerText } = await import("../../why/text.ts")
    await out.write(answerText(one))
  }
}

async function overview(invocation: Invocation<typeof flags>, namespace: string | undefined): Promise<void> {
  const { flags: values, out } = invocation
  const { whyCluster } = await import("../../why/cluster.ts")
  const found = await whyCluster(await apiOf(invocation), namespace)
  if (values.output === "json") await out.write(`${JSON.stringify(found, undefined, 2)}\n`)
  else {
    const { overviewText } = await import("../../why/text.ts")
    await out.write(overviewText(found))
  }
  const code = EXIT_CODE[found.state]
  if (code !== 0) throw new SilentExit(code)
}

async function apiOf({ factory }: Invocation<typeof flags>): Promise<WhyApi> {
  const client = await factory.client()
  return {
    now: () => factory.environment.clock.now(),
    async get(path, accept = "application/json") {
      const { status, body } = await client.send({ method: "GET", path, accept })
      const parts: Uint8Array[] = []
      for await (const part of body) parts.push(part)
      return { code: status, text: Buffer.concat(parts).toString() }
    },
  }
}
