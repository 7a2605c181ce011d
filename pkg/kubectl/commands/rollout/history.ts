import type { PodTemplateSpec } from "../../../api/core/v1/podtemplate/podtemplatespec.ts"
import { command, type Invocation } from "../../command/command.ts"
import { int64Flag } from "../../command/flag.ts"
import type { DescribeClient } from "../../describe/describe-client.ts"
import type { Describing } from "../../describe/describing.ts"
import { describePodTemplate } from "../../describe/pod-template.ts"
import { description, unaligned } from "../../describe/prefix-writer.ts"
import { restDescribeClient } from "../../describe/rest-describe-client.ts"
import { printerOf, printFlags } from "../../printers/print-flags.ts"
import { goMetadata, type Json } from "../../printers/go-order.ts"
import { typedObject } from "../../printers/printer.ts"
import type { Info } from "../../resource/info.ts"
import type { Unstructured } from "../../rest/json.ts"
import { controllerRevisions, deploymentRevisions, templateOf } from "./revisions.ts"
import { requireTarget, targetFlags, targets, withoutRevisions, workloadOf } from "./targets.ts"

const CHANGE_CAUSE = "kubernetes.io/change-cause"

const flags = {
  ...printFlags(),
  ...targetFlags,
  revision: int64Flag(0, "Show the details of this revision, such as its pod template."),
}

/** Source: kubectl pkg/cmd/rollout/rollout_history.go. */
export const historyCommand = command({
  use: "history (TYPE NAME | TYPE/NAME) [flags]",
  noFlagsInUse: true,
  short: "View rollout history",
  long: "View the revisions of former rollouts, and how each was configured.",
  example: `
# View the revisions of a deployment
kubectl rollout history deployment/web

# View the details of revision 3 of a daemon set
kubectl rollout history daemonset/web --revision=3`,
  flags,
  run,
})

/** A revision as it is shown. */
interface Revision {
  readonly number: number
  readonly cause: string
  readonly template: PodTemplateSpec
  /** What `-o` prints. */
  readonly object: Unstructured
}

async function run(invocation: Invocation<typeof flags>): Promise<void> {
  const { flags: values, args, factory, changed, environment, out } = invocation
  requireTarget(args, values)
  if (values.revision < 0) throw new Error(`revision must be a positive integer: ${values.revision}`)
  const result = await targets(invocation, values)
  const parts = { readFile: (path: string) => factory.readFile(path), outputIsSet: changed("output") }
  const printer = changed("output") ? await printerOf(values, "", parts) : undefined
  const client = restDescribeClient(await factory.client())
  await result.visit(async (info) => {
    const revisions = await revisionsOf(client, info)
    const wanted = revisions.find(({ number }) => number === values.revision)
    if (values.revision > 0 && wanted === undefined && (printer !== undefined || revisions.length > 0))
      throw new Error("unable to find the specified revision")
    if (printer !== undefined) {
      for (const { object } of wanted === undefined ? revisions : [wanted]) await printer.print(object, out)
      return
    }
    const { clock, zone } = environment
    const describing = { client, showEvents: false, chunkSize: 0, now: () => clock.now(), zone }
    const text =
      revisions.length === 0
        ? "No rollout history found."
        : wanted === undefined
          ? tableOf(revisions)
          : templateText(wanted.template, describing)
    const title = values.revision > 0 ? `with revision #${values.revision}` : ""
    await (await printerOf(values, `${title}\n${text}`, parts)).print(info.loaded, out)
  })
}

/** Returns a pod template as upstream prints it here: its columns are not aligned. */
export const templateText = (template: PodTemplateSpec, describing: Describing): string =>
  unaligned((w) => describePodTemplate(w, template, describing))

const tableOf = (revisions: readonly Revision[]): string =>
  description((w) => {
    w.row(0, "REVISION", "CHANGE-CAUSE")
    for (const { number, cause } of revisions) w.row(0, number, cause || "<none>")
  })

/** Returns the revisions of a workload in their order; the last one with a number counts. */
async function revisionsOf(client: DescribeClient, info: Info): Promise<readonly Revision[]> {
  const workload = workloadOf(info)
  if (workload === undefined) throw withoutRevisions(info, "history viewer")
  const byNumber = new Map<number, Revision>()
  if (workload === "Deployment") {
    const { replicaSets } = await deploymentRevisions(client, info, "deployment")
    for (const { revision: number, replicaSet } of replicaSets) {
      const { template } = replicaSet.spec
      const annotations = template?.metadata?.annotations ?? {}
      const cause = replicaSet.metadata.annotations?.[CHANGE_CAUSE] || (annotations[CHANGE_CAUSE] ?? "")
      byNumber.set(number, {
        number,
        cause,
        template: withCause(template as PodTemplateSpec, cause),
        object: typed("ReplicaSet", { ...replicaSet }),
      })
    }
  } else {
    const { controlled, revisions } = await controllerRevisions(client, workload, info)
    for (const revision of revisions) {
      const number = revision.revision ?? 0
      const template = templateOf(revision)
      byNumber.set(number, {
        number,
        cause: revision.metadata.annotations?.[CHANGE_CAUSE] ?? "",
        template,
        object: typed(workload, { ...controlled, spec: { ...controlled.spec, template } }),
      })
    }
  }
  return [...byNumber.values()].sort((a, b) => a.number - b.number)
}

const withCause = (template: PodTemplateSpec, cause: string): PodTemplateSpec =>
  cause === ""
    ? template
    : {
        ...template,
        metadata: {
          ...template.metadata,
          annotations: { ...template.metadata?.annotations, [CHANGE_CAUSE]: cause },
        },
      }

/** Returns an object as Go prints its struct. One of a list has no kind of its own. */
const typed = (kind: string, object: Json & { readonly metadata: object }): Unstructured =>
  typedObject({ kind, apiVersion: "apps/v1", ...object, metadata: goMetadata(object.metadata as Json) }) as Unstructured
