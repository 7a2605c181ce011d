import type { Invocation } from "../../command/command.ts"
import { dryRunFlag, dryRunOf, selectorFlag, withDryRun, type DryRun } from "../../command/shared-flags.ts"
import { errorMessage } from "../../../errors/error-message.ts"
import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import { namePrinter } from "../../printers/name.ts"
import type { Info } from "../../resource/info.ts"
import { gvrText } from "../../rest/rest-mapper.ts"
import { KUBECTL_SCHEME } from "../../resource/scheme-names.ts"

/** The flags that `cordon`, `uncordon` and `drain` have. */
export const nodeFlags = () => ({ ...selectorFlag(), ...dryRunFlag() })

export type NodeInvocation = Invocation<ReturnType<typeof nodeFlags>>

export const dryRunOfNodes = ({ flags, factory }: NodeInvocation): DryRun => dryRunOf(flags["dry-run"], factory.log)

/** Finds the nodes that the command line names. Source: kubectl pkg/cmd/drain/drain.go (Complete). */
export async function nodesOf(
  { flags, args, changed, factory, usageError }: NodeInvocation,
  use: string,
  chunkSize: number,
): Promise<readonly Info[]> {
  if (args.length === 0 && !changed("selector")) throw usageError(`USAGE: ${use} [flags]`)
  if (args.length > 0 && flags.selector !== "")
    throw usageError("error: cannot specify both a node name and a --selector option")
  const { namespace } = await factory.namespace()
  const result = await factory.build({
    ...(flags.selector === "" ? { names: args, defaultType: "nodes" } : { args: ["nodes"] }),
    scheme: KUBECTL_SCHEME,
    namespace,
    defaultNamespace: true,
    labelSelector: flags.selector,
    chunkSize,
    singleResourceType: true,
    flatten: true,
  })
  const infos: Info[] = []
  await result.visit((info) => {
    const { resource } = info.mapping
    if (resource.group !== "" || resource.resource !== "nodes")
      return Promise.reject(new Error(`error: expected resource of type node, got ${goQuoted(gvrText(resource))}`))
    infos.push(info)
    return Promise.resolve()
  })
  return infos
}

/** Marks nodes as schedulable or not; what is wrong with one does not keep the others from it. */
export async function setUnschedulable(
  { out, errOut }: NodeInvocation,
  nodes: readonly Info[],
  unschedulable: boolean,
  dryRun: DryRun,
): Promise<void> {
  for (const info of nodes) {
    const { spec = {} } = info.loaded as { readonly spec?: { readonly unschedulable?: boolean } }
    const isAlready = (spec.unschedulable ?? false) === unschedulable
    const state = unschedulable ? "cordoned" : "uncordoned"
    if (!isAlready && dryRun !== "client")
      try {
        const body = JSON.stringify({ spec: { unschedulable: unschedulable ? true : null } })
        await info.helper.patch("", info.name, "application/strategic-merge-patch+json", body, {
          serverDryRun: dryRun === "server",
        })
      } catch (err) {
        const verb = unschedulable ? "cordon" : "uncordon"
        await errOut.write(`error: unable to ${verb} node ${goQuoted(info.name)}: ${errorMessage(err)}\n`)
        continue
      }
    const operation = withDryRun(isAlready ? `already ${state}` : state, dryRun)
    await namePrinter({ operation }).print(info.loaded, out)
  }
}
