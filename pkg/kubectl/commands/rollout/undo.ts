import { deepEqual } from "../../../apimachinery/json/equal.ts"
import type { ReplicaSet } from "../../../api/apps/v1/replicaset.ts"
import type { PodTemplateSpec } from "../../../api/core/v1/podtemplate/podtemplatespec.ts"
import { errorMessage } from "../../../errors/error-message.ts"
import { command, type Invocation } from "../../command/command.ts"
import { int64Flag } from "../../command/flag.ts"
import { dryRunFlag, dryRunOf, withDryRun, type DryRun } from "../../command/shared-flags.ts"
import { sameTemplate, withoutHash } from "../../describe/replica-sets.ts"
import { restDescribeClient } from "../../describe/rest-describe-client.ts"
import { printerOf, printFlags } from "../../printers/print-flags.ts"
import type { PatchType } from "../../resource/helper.ts"
import type { Info } from "../../resource/info.ts"
import { goJson } from "../../rest/json.ts"
import { templateText } from "./history.ts"
import { controllerRevisions, deploymentRevisions, templateOf, type DeploymentRevisions } from "./revisions.ts"
import { requireTarget, targetFlags, targets, withoutRevisions, workloadOf } from "./targets.ts"

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
/** Annotations of the Deployment that a rollback leaves as they are. */
const KEPT: readonly string[] = [
  LAST_APPLIED,
  "deployment.kubernetes.io/revision",
  "deployment.kubernetes.io/revision-history",
  "deployment.kubernetes.io/desired-replicas",
  "deployment.kubernetes.io/max-replicas",
  "deprecated.deployment.rollback.to",
]

const flags = {
  ...printFlags(),
  "to-revision": int64Flag(0, "The revision to go back to. 0 is the last one before the present."),
  ...targetFlags,
  ...dryRunFlag(),
}
type UndoInvocation = Invocation<typeof flags>

/** Source: kubectl pkg/cmd/rollout/rollout_undo.go, pkg/polymorphichelpers/rollback.go. */
export const undoCommand = command({
  use: "undo (TYPE NAME | TYPE/NAME) [flags]",
  noFlagsInUse: true,
  short: "Undo a previous rollout",
  long: "Go back to a former rollout.",
  example: `
# Go back to what a deployment was before
kubectl rollout undo deployment/web

# Go back to revision 3 of a daemon set
kubectl rollout undo daemonset/web --to-revision=3

# Ask the server whether a deployment can go back
kubectl rollout undo --dry-run=server deployment/web`,
  flags,
  run,
})

async function run(invocation: UndoInvocation): Promise<void> {
  const { flags: values, args, factory, changed, out, errOut, path } = invocation
  const dryRun = dryRunOf(values["dry-run"], factory.log)
  requireTarget(args, values)
  const result = await targets(invocation, values)
  const root = path.split(" ")[0]!
  await result.visit(async (info) => {
    if (info.loaded.metadata?.annotations?.[LAST_APPLIED] !== undefined)
      await errOut.write(
        `Warning: resource ${info.objectName} was previously managed with '${root} apply'. Rolling back will not update the ${LAST_APPLIED} annotation, which may cause unexpected behavior on future '${root} apply' operations. Consider using '${root} apply' with your previous configuration file instead.\n`,
      )
    const message = await rollBack(invocation, info, dryRun)
    const printer = await printerOf(values, withDryRun(message, dryRun), {
      readFile: (file) => factory.readFile(file),
      outputIsSet: changed("output"),
    })
    await printer.print(info.loaded, out)
  })
}

const ROLLED_BACK = "rolled back"
const skipped = (revision: number): string => `skipped rollback (current template already matches revision ${revision})`
const notFound = (revision: number): Error => new Error(`unable to find specified revision ${revision} in history`)

async function rollBack(invocation: UndoInvocation, info: Info, dryRun: DryRun): Promise<string> {
  const { flags: values, factory, environment } = invocation
  const revision = values["to-revision"]
  const workload = workloadOf(info)
  if (workload === undefined) throw withoutRevisions(info, "rollbacker")
  if (revision < 0) throw notFound(revision)
  const client = restDescribeClient(await factory.client())
  const restore = async (type: PatchType, patch: unknown): Promise<string> => {
    try {
      await info.helper.patch(info.namespace, info.name, type, goJson(patch), { serverDryRun: dryRun === "server" })
    } catch (err) {
      throw new Error(`failed restoring revision ${revision}: ${errorMessage(err)}`, { cause: err })
    }
    return ROLLED_BACK
  }
  const { clock, zone } = environment
  const show = (template: PodTemplateSpec): string =>
    templateText(template, { client, showEvents: false, chunkSize: 0, now: () => clock.now(), zone })

  if (workload !== "Deployment") {
    const { controlled, revisions } = await controllerRevisions(client, workload, info)
    if (revision === 0 && revisions.length <= 1) throw new Error("no last revision to roll back to")
    const wanted =
      revision === 0
        ? revisions.toSorted((a, b) => (a.revision ?? 0) - (b.revision ?? 0)).at(-2)
        : revisions.find((each) => each.revision === revision)
    if (wanted === undefined) throw notFound(revision)
    if (dryRun === "client") return `will roll back to ${show(templateOf(wanted))}`
    if (deepEqual(controlled.spec.template, templateOf(wanted))) return skipped(revision)
    return restore("application/strategic-merge-patch+json", wanted.data)
  }

  const { deployment, replicaSets } = await deploymentRevisions(client, info, "Deployment")
  const replicaSet = revisionOf(replicaSets, revision, info.name)
  const template = replicaSet.spec.template as PodTemplateSpec
  if (dryRun === "client") return show(template)
  if (deployment.spec.paused === true)
    throw new Error(
      "you cannot rollback a paused deployment; resume it first with 'kubectl rollout resume' and try again",
    )
  if (sameTemplate(replicaSet.spec.template, deployment.spec.template)) return skipped(revision)
  const entries = (annotations: Readonly<Record<string, string>> | undefined = {}, kept: boolean) =>
    Object.entries(annotations).filter(([key]) => KEPT.includes(key) === kept)
  const annotations = Object.fromEntries([
    ...entries(deployment.metadata.annotations, true),
    ...entries(replicaSet.metadata.annotations, false),
  ])
  return restore("application/json-patch+json", [
    { op: "replace", path: "/spec/template", value: withoutHash(replicaSet.spec.template) },
    { op: "replace", path: "/metadata/annotations", value: annotations },
  ])
}

/** Returns the ReplicaSet of a revision; 0 is the last one before the newest. */
function revisionOf(replicaSets: DeploymentRevisions["replicaSets"], revision: number, name: string): ReplicaSet {
  if (revision > 0) {
    const found = replicaSets.find((each) => each.revision === revision)
    if (found === undefined) throw notFound(revision)
    return found.replicaSet
  }
  const previous = replicaSets.toSorted((a, b) => b.revision - a.revision)[1]
  if (previous === undefined) throw new Error(`no rollout history found for deployment ${JSON.stringify(name)}`)
  return previous.replicaSet
}
