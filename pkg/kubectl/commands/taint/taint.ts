import { command, type Invocation } from "../../command/command.ts"
import { boolFlag } from "../../command/flag.ts"
import {
  dryRunFlag,
  dryRunOf,
  fieldManagerFlag,
  fieldValidationOf,
  selectorFlag,
  validateFlag,
} from "../../command/shared-flags.ts"
import { printerOf, printFlags } from "../../printers/print-flags.ts"
import type { Result } from "../../resource/result.ts"
import { goJson, type Unstructured } from "../../rest/json.ts"
import { changedTaints, parseTaints, type Taint, type TaintChanges } from "./taints.ts"
import { KUBECTL_SCHEME } from "../../resource/scheme-names.ts"

const flags = {
  ...printFlags(),
  ...dryRunFlag(),
  ...validateFlag(),
  ...selectorFlag(),
  overwrite: boolFlag(false, "If true, replace taints that are there already; otherwise that is an error."),
  all: boolFlag(false, "Select all nodes of the cluster"),
  ...fieldManagerFlag("kubectl-taint"),
}

type TaintInvocation = Invocation<typeof flags>

interface TaintedNode extends Unstructured {
  spec?: { taints?: readonly Taint[] }
}

/** Source: kubectl pkg/cmd/taint/taint.go. */
export const taintCommand = command({
  use: "taint NODE NAME KEY_1=VAL_1:TAINT_EFFECT_1 ... KEY_N=VAL_N:TAINT_EFFECT_N",
  noFlagsInUse: true,
  short: "Update the taints on one or more nodes",
  long: `
Update the taints on one or more nodes.

  *  A taint has a key, a value, and an effect. Here it is written as key=value:effect.
  *  The key begins with a letter or number, and may have letters, numbers, hyphens, dots, and underscores, up to 253 characters.
  *  It may have a DNS subdomain and a '/' before it, like example.com/my-app.
  *  The value may be left out. It begins with a letter or number, and may have letters, numbers, hyphens, dots, and underscores, up to 63 characters.
  *  The effect is NoSchedule, PreferNoSchedule or NoExecute.
  *  Only nodes can be tainted.`,
  example: `
# Give the node 'foo' a taint with the key 'dedicated', the value 'special-user' and the effect 'NoSchedule'
# If it has one with this key and effect, its value is replaced
kubectl taint nodes foo dedicated=special-user:NoSchedule

# Remove the taint with the key 'dedicated' and the effect 'NoSchedule' from the node 'foo', if it is there
kubectl taint nodes foo dedicated:NoSchedule-

# Remove all taints with the key 'dedicated' from the node 'foo'
kubectl taint nodes foo dedicated-

# Taint the nodes with the label myLabel=X
kubectl taint node -l myLabel=X  dedicated=foo:PreferNoSchedule

# Give the node 'foo' a taint with the key 'bar' and no value
kubectl taint nodes foo bar:NoSchedule`,
  flags,
  async run(invocation) {
    const { flags: values, factory, out, usageError } = invocation
    const dryRun = dryRunOf(values["dry-run"], factory.log)
    const fieldValidation = fieldValidationOf(values.validate)
    const { resources, taints } = sorted(invocation.args)
    if (resources.length === 0) throw new Error("one or more resources must be specified as <resource> <name>")
    if (taints.length === 0) throw new Error("at least one taint update is required")
    let changes: TaintChanges
    try {
      changes = parseTaints(taints)
    } catch (err) {
      throw usageError((err as Error).message)
    }
    await check(invocation, resources, changes)
    const result = await found(invocation, resources)
    await result.visit(async (info) => {
      const node: TaintedNode = info.loaded
      const after = changedTaints(info.name, node.spec?.taints ?? [], changes, values.overwrite)
      const printer = await printerOf(values, after.operation, factory)
      if (dryRun === "client") return printer.print({ ...node, spec: { ...node.spec, taints: after.taints } }, out)
      const list = after.taints.length === 0 ? null : after.taints
      const body = goJson({ spec: { taints: list } })
      const object = await info.helper.patch("", info.name, "application/strategic-merge-patch+json", body, {
        fieldManager: values["field-manager"],
        fieldValidation,
        serverDryRun: dryRun === "server",
      })
      await printer.print(object, out)
    })
  },
})

/** Tells resources and taints apart. @throws Error for a resource after a taint */
function sorted(args: readonly string[]): {
  readonly resources: readonly string[]
  readonly taints: readonly string[]
} {
  const isTaint = (arg: string) => arg.includes("=") || arg.includes(":") || arg.endsWith("-")
  const first = args.findIndex(isTaint)
  if (first === -1) return { resources: args, taints: [] }
  const wrong = args.slice(first).find((arg) => !isTaint(arg))
  if (wrong !== undefined) throw new Error(`all resources must be specified before taint changes: ${wrong}`)
  return { resources: args.slice(0, first), taints: args.slice(first) }
}

async function check(
  { flags: values, factory }: TaintInvocation,
  resources: readonly string[],
  { add, remove }: TaintChanges,
): Promise<void> {
  const type = resources[0]!.toLowerCase()
  const restMapper = await factory.restMapper()
  const kind = await restMapper.kindFor({ group: "", version: "", resource: type })
  if (kind.kind !== "Node") throw new Error(`invalid resource type ${type}, only node types are supported`)
  const both = add.flatMap((one) =>
    remove.filter(({ key, effect }) => key === one.key && (effect === "" || effect === one.effect)),
  )
  if (both.length > 0)
    throw new Error(
      `can not both modify and remove the following taint(s) in the same command: ${both
        .map(({ key, effect }) => `${key}=${effect}`)
        .join(", ")}`,
    )
  if (values.all && values.selector !== "")
    throw new Error("setting 'all' parameter with a non empty selector is prohibited")
  if (!values.all && values.selector === "" && resources.length < 2)
    throw new Error("at least one resource name must be specified since 'all' parameter is not set")
}

async function found({ flags: values, factory }: TaintInvocation, resources: readonly string[]): Promise<Result> {
  const { namespace } = await factory.namespace()
  const bySelector = values.all || values.selector !== ""
  return factory.build({
    ...(bySelector ? { args: ["node"] } : { names: resources.slice(1), defaultType: "node" }),
    scheme: KUBECTL_SCHEME,
    namespace,
    defaultNamespace: true,
    labelSelector: values.selector,
    selectAll: values.all,
    continueOnError: true,
    latest: true,
    flatten: true,
  })
}
