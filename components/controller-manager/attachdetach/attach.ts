import { isAlreadyExists } from "../../../pkg/apimachinery/errors.ts"
import type { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { VolumeAttachment } from "../../../pkg/api/storage/v1/volumeattachment.ts"
import type { ReconcileContext } from "../../../pkg/controller/controller.ts"
import { attachmentName } from "../../../pkg/pods/csi-volumes.ts"
import type { Attachments, OwnAttachment } from "./attachments.ts"
import { isShared, podsUsing, type WantedVolume } from "./desired.ts"
import { reportAttached } from "./report-attached.ts"

interface Attaching {
  readonly node: Node
  readonly wanted: ReadonlyMap<string, WantedVolume>
  readonly own: readonly OwnAttachment[]
  readonly attachments: Attachments
  readonly context: ReconcileContext
}

/** Begins to attach the volumes that the pods of a node need, and tells node and pods of those that are attached. */
export async function attachWanted({ node, wanted, own, attachments, context }: Attaching): Promise<void> {
  const key = node.metadata.name!
  const reported = attachments.reported.get(key)
  for (const name of reported ?? []) if (!wanted.has(name)) reported!.delete(name)
  const failures: unknown[] = []
  for (const volume of wanted.values()) {
    const attachment = own.find(({ name }) => name === volume.name)?.attachment
    if (attachment !== undefined) tellProgress(volume, attachment, node, attachments, context)
    else await beginAttach(volume, key, attachments, context).catch((err: unknown) => failures.push(err))
  }
  await reportAttached(node, own, context)
  // One volume that is refused keeps no other one from the node.
  if (failures.length > 0) throw failures[0]
}

async function beginAttach(
  { name, csi, volume, pods }: WantedVolume,
  node: string,
  attachments: Attachments,
  context: ReconcileContext,
): Promise<void> {
  const others = isShared(volume) ? [] : attachments.othersWith(name, node, context.informers)
  if (others.length > 0) {
    const reported = attachments.reported.get(node) ?? new Set()
    attachments.reported.set(node, reported)
    if (!reported.has(name)) tellMultiAttach({ name, csi, volume, pods }, others, context)
    reported.add(name)
    return
  }
  const metadata = { name: attachmentName(csi, node) }
  const source = { persistentVolumeName: volume.metadata.name! }
  attachments.made(metadata.name, csi, node)
  await context.client
    .create(VolumeAttachment, { metadata, spec: { attacher: csi.driver, nodeName: node, source } })
    .catch((err: unknown) => {
      if (isAlreadyExists(err)) return
      attachments.notMade(metadata.name)
      throw err
    })
}

/** Tells pods once that their volume is attached, or why it is not. */
function tellProgress(
  { name, volume, pods }: WantedVolume,
  { metadata, status }: VolumeAttachment,
  node: Node,
  { errors }: Attachments,
  { events }: ReconcileContext,
): void {
  const about = `for volume ${JSON.stringify(volume.metadata.name)}`
  const error = status.attachError?.message
  if (metadata.deletionTimestamp !== undefined) return
  if (status.attached) {
    errors.delete(metadata.name!)
    if (node.status.volumesAttached?.some((attached) => attached.name === name) === true) return
    for (const pod of pods)
      events.event(pod, "Normal", "SuccessfulAttachVolume", `AttachVolume.Attach succeeded ${about} `)
  } else if (error !== undefined && errors.get(metadata.name!) !== error) {
    errors.set(metadata.name!, error)
    for (const pod of pods)
      events.event(pod, "Warning", "FailedAttachVolume", `AttachVolume.Attach failed ${about} : ${error}`)
  }
}

/**
 * Tells pods that another node has their volume, and which pods there. The names of pods in other namespaces are not
 * told. Source: reportMultiAttachError in pkg/controller/volume/attachdetach/reconciler.
 */
function tellMultiAttach(
  { volume, pods }: WantedVolume,
  others: readonly string[],
  { events, informers }: ReconcileContext,
): void {
  const users = podsUsing(volume, informers).filter(({ spec }) => others.includes(spec.nodeName ?? ""))
  for (const pod of pods) {
    const names = users
      .filter(({ metadata }) => metadata.namespace === pod.metadata.namespace)
      .map(({ metadata }) => metadata.name!)
    const why =
      names.length === 0
        ? "Volume is already exclusively attached to one node and can't be attached to another"
        : `Volume is already used by pod(s) ${names.join(", ")}`
    const message = `Multi-Attach error for volume ${JSON.stringify(volume.metadata.name)} ${why}`
    events.event(pod, "Warning", "FailedAttachVolume", message)
  }
}
