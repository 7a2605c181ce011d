import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { TAINT } from "../../../pkg/api/core/v1/node/taints.ts"
import { VolumeAttachment } from "../../../pkg/api/storage/v1/volumeattachment.ts"
import type { ReconcileContext } from "../../../pkg/controller/controller.ts"
import type { Attachments, OwnAttachment } from "./attachments.ts"
import type { WantedVolume } from "./desired.ts"
import { reportAttached } from "./report-attached.ts"

/**
 * How long a node that does not answer may keep a volume that it has mounted. Source:
 * ReconcilerMaxWaitForUnmountDuration.
 */
const MAX_WAIT_FOR_UNMOUNT_MS = 6 * 60_000
/** Delay before another look at a volume that the API server says to be in use. */
const RETRY_MS = 500

interface Detaching {
  readonly key: string
  /** Undefined for a deleted node. */
  readonly node: Node | undefined
  readonly wanted: ReadonlyMap<string, WantedVolume>
  readonly own: readonly OwnAttachment[]
  readonly attachments: Attachments
  readonly context: ReconcileContext
}

/**
 * Detaches the volumes of a node that no pod there needs: when they are unmounted, at once if the node is out of
 * service, and from a node that is not ready after six minutes. Returns in how many milliseconds to look again.
 */
export async function detachUnwanted(detaching: Detaching): Promise<number | undefined> {
  const { key, node, wanted, own, attachments } = detaching
  const inUse = node?.status.volumesInUse ?? []
  if (inUse.length > 0) attachments.lastInUse.set(key, inUse)
  else if (node !== undefined) attachments.lastInUse.delete(key)
  let again: number | undefined
  for (const { name, attachment } of own) {
    if (wanted.has(name)) {
      attachments.detachSince.delete(attachment.metadata.name!)
      continue
    }
    if (attachment.metadata.deletionTimestamp !== undefined) continue
    const waitMs = await detach(detaching, name, attachment)
    if (waitMs !== undefined) again = Math.min(again ?? Infinity, waitMs)
  }
  if (node === undefined && own.length === 0) {
    attachments.lastInUse.delete(key)
    attachments.reported.delete(key)
  }
  return again
}

/** Detaches a volume if that is safe, or has waited long enough. Returns in how many milliseconds to look again. */
async function detach(
  { key, node, own, attachments, context }: Detaching,
  name: string,
  attachment: VolumeAttachment,
): Promise<number | undefined> {
  const { client, clock, log } = context
  const now = clock.monotonic()
  const since = attachments.detachSince.get(attachment.metadata.name!) ?? now
  attachments.detachSince.set(attachment.metadata.name!, since)
  const left = since + MAX_WAIT_FOR_UNMOUNT_MS - now
  const isReady = node?.status.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true
  const isOutOfService = node?.spec.taints?.some((taint) => taint.key === TAINT.outOfService) === true
  const isMounted = (node?.status.volumesInUse ?? attachments.lastInUse.get(key) ?? []).includes(name)
  // A ready node says when it has unmounted the volume.
  if (isMounted && !isOutOfService && (left > 0 || isReady)) return left > 0 ? left : undefined
  if (left > 0 && !isOutOfService && (await isInUse(context, key, name))) return RETRY_MS
  if (isMounted)
    log.info("Detaching a volume that its node may still have mounted", {
      node: key,
      volume: name,
      why: isOutOfService ? "the node is out of service" : "the node has not answered for six minutes",
    })
  // Kubelets must not mount it from now on.
  if (node !== undefined)
    await reportAttached(
      node,
      own.filter((other) => other.name !== name),
      context,
    )
  const { uid } = attachment.metadata
  await client.delete(VolumeAttachment, attachment.metadata, { preconditions: { uid: uid! } }).catch((err: unknown) => {
    if (!isNotFound(err)) throw err
  })
  return undefined
}

/** Whether the API server's Node, which may be newer than the informer's, says that it has mounted a volume. */
async function isInUse({ client }: ReconcileContext, node: string, volume: string): Promise<boolean> {
  try {
    return (await client.get(Node, { name: node })).status.volumesInUse?.includes(volume) === true
  } catch (err) {
    if (isNotFound(err)) return false
    throw err
  }
}
