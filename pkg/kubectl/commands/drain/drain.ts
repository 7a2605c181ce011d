import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import { parseLabelSelector } from "../../../apimachinery/selectors/labels.ts"
import { errorMessage } from "../../../errors/error-message.ts"
import { command, type Invocation } from "../../command/command.ts"
import { boolFlag, durationFlag, intFlag, stringFlag } from "../../command/flag.ts"
import { chunkSizeFlag, withDryRun, type DryRun } from "../../command/shared-flags.ts"
import { Aggregate, throwAggregate } from "../../errors/aggregate.ts"
import { namePrinter } from "../../printers/name.ts"
import { Helper } from "../../resource/helper.ts"
import type { Info } from "../../resource/info.ts"
import { evictOrDelete } from "./evict-pods.ts"
import { dryRunOfNodes, nodeFlags, nodesOf, setUnschedulable, type NodeInvocation } from "./nodes.ts"
import { podsToDelete, type DrainedPod, type PodsToDelete } from "./pods-to-delete.ts"

const flags = {
  ...nodeFlags(),
  ...chunkSizeFlag(),
  force: boolFlag(false, "Go on also if there are pods without a controller."),
  "ignore-daemonsets": boolFlag(false, "Leave pods of DaemonSets alone."),
  "delete-emptydir-data": boolFlag(false, "Go on also if there are pods with an emptyDir, whose data is lost then."),
  "grace-period": intFlag(-1, "Seconds that each pod has to end. If negative, as many as the pod says."),
  timeout: durationFlag(0, "How long to wait before giving up, zero means for ever"),
  "pod-selector": stringFlag("", "A label selector of the pods on the node"),
  "disable-eviction": boolFlag(
    false,
    "Delete pods also if the server could evict them. PodDisruptionBudgets do not count then: take care.",
  ),
  "skip-wait-for-delete-timeout": intFlag(
    0,
    "Do not wait for pods whose DeletionTimestamp is older than this many seconds, which must be more than 0.",
  ),
}

type DrainInvocation = Invocation<typeof flags>

/** Source: kubectl pkg/cmd/drain/drain.go. */
export const drainCommand = command({
  use: "drain NODE",
  noFlagsInUse: true,
  short: "Drain node in preparation for maintenance",
  long: `
Drain node in preparation for maintenance.

 The node is marked as unschedulable, so that no new pods come. Then 'drain' evicts its pods, or deletes them if the server has no eviction (https://kubernetes.io/docs/concepts/workloads/pods/disruptions/). It evicts or deletes all pods but mirror pods, which cannot be deleted through the server. If there are pods of DaemonSets, it does nothing without --ignore-daemonsets, and in any case it leaves them alone: their controller would replace them at once, since it heeds no marks. If there are pods that neither are mirror pods nor belong to a replication controller, replica set, daemon set, stateful set, or job, it deletes no pod without --force. --force also lets it go on when what manages a pod is missing.

 'drain' waits until the pods have ended. Do not work on the machine before it is done.

 When the node is to serve again, kubectl uncordon makes it schedulable.`,
  example: `
# Drain the node "foo", also if it has pods that belong to no replication controller, replica set, job, daemon set, or stateful set
kubectl drain foo --force

# Drain it, but not if there are such pods, and give pods 15 minutes to end
kubectl drain foo --grace-period=900`,
  flags,
  async run(invocation) {
    const { flags: values, out, errOut } = invocation
    const nodeInvocation = invocation as unknown as NodeInvocation
    const dryRun = dryRunOfNodes(nodeInvocation)
    if (values["pod-selector"] !== "")
      try {
        parseLabelSelector(values["pod-selector"])
      } catch (err) {
        throw new Error("--pod-selector=<pod_selector> must be a valid label selector", { cause: err })
      }
    const nodes = await nodesOf(nodeInvocation, "drain NODE", values["chunk-size"])
    await setUnschedulable(nodeInvocation, nodes, true, dryRun)
    const failed: { readonly name: string; readonly err: unknown }[] = []
    for (const info of nodes)
      try {
        await drain(info, invocation, dryRun)
        await namePrinter({ operation: withDryRun("drained", dryRun) }).print(info.loaded, out)
      } catch (err) {
        failed.push({ name: info.name, err })
        await errOut.write(
          `error: unable to drain node ${goQuoted(info.name)} due to error: ${errorMessage(err)}, continuing command...\n`,
        )
      }
    if (failed.length === 0) return
    await errOut.write(`There are pending nodes to be drained:\n${failed.map(({ name }) => ` ${name}\n`).join("")}`)
    throwAggregate(failed.map(({ err }) => err))
  },
})

/** Ends the pods of one node. */
async function drain(node: Info, invocation: DrainInvocation, dryRun: DryRun): Promise<void> {
  const { flags: values, factory, environment, out, errOut } = invocation
  const { pods, warnings, errors } = await podsOf(node, invocation)
  if (errors.length > 0) throw new Aggregate(errors)
  if (warnings !== "") factory.warnings.print(warnings)
  if (dryRun === "client") {
    for (const { metadata } of pods)
      await out.write(`evicting pod ${metadata?.namespace ?? ""}/${metadata?.name ?? ""} (dry run)\n`)
    return
  }
  try {
    await evictOrDelete(pods, {
      client: await factory.client(),
      environment,
      out,
      errOut,
      dryRun,
      gracePeriod: values["grace-period"],
      timeoutMs: values.timeout,
      disableEviction: values["disable-eviction"],
      skipOlderThan: values["skip-wait-for-delete-timeout"],
      async finished(pod, evicted, isFailed) {
        const verb = evicted ? (isFailed ? "eviction failed" : "evicted") : isFailed ? "deletion failed" : "deleted"
        await namePrinter({ operation: withDryRun(verb, dryRun) }).print(pod, out)
      },
    })
  } catch (err) {
    await sayPending(node, invocation, err)
    throw err
  }
}

async function sayPending(node: Info, invocation: DrainInvocation, err: unknown): Promise<void> {
  const { errOut } = invocation
  const pending = await podsOf(node, invocation).catch((listing: unknown) => ({ pods: [], errors: [listing] }))
  if (pending.pods.length > 0) {
    const lines = pending.pods.map(({ metadata }) => `pod/${metadata?.name ?? ""}\n`).join("")
    await errOut.write(
      `There are pending pods in node ${goQuoted(node.name)} when an error occurred: ${errorMessage(err)}\n${lines}`,
    )
  }
  if (pending.errors.length > 0)
    await errOut.write(
      `Following errors occurred while getting the list of pods to delete:\n${new Aggregate(pending.errors).message}`,
    )
}

async function podsOf(node: Info, { flags: values, factory, environment }: DrainInvocation): Promise<PodsToDelete> {
  const client = await factory.client()
  const kind = { group: "", version: "v1", kind: "Pod" }
  const resource = { group: "", version: "v1", resource: "pods" }
  const helper = new Helper(client, { resource, kind, namespaced: true })
  const pods: DrainedPod[] = []
  let next = ""
  do {
    const list = await helper.list("", {
      labelSelector: values["pod-selector"],
      fieldSelector: `spec.nodeName=${node.name}`,
      limit: values["chunk-size"],
      continue: next,
    })
    for (const pod of (list["items"] ?? []) as readonly DrainedPod[]) pods.push(pod)
    next = list.metadata?.continue ?? ""
  } while (next !== "")
  const rules = {
    force: values.force,
    ignoreDaemonSets: values["ignore-daemonsets"],
    deleteEmptyDirData: values["delete-emptydir-data"],
    skipOlderThan: values["skip-wait-for-delete-timeout"],
  }
  return podsToDelete(pods, rules, { client, clock: environment.clock })
}
