import { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { VolumeAttachment } from "../../../pkg/api/storage/v1/volumeattachment.ts"
import type { Informers } from "../../../pkg/client/informer.ts"
import { attachmentName, csiVolumeName, type CsiSource } from "../../../pkg/pods/csi-volumes.ts"
import { attachmentsByNode } from "../../../pkg/component/volume-indexes.ts"

/** A VolumeAttachment of this controller, with the name of its volume in the status of Nodes. */
export interface OwnAttachment {
  readonly name: string
  readonly attachment: VolumeAttachment
}

/** What the controller remembers of its VolumeAttachments; like upstream's, it begins anew with each start. */
export class Attachments {
  /** The volumes of attachments, by the attachments' names: their PersistentVolume may be deleted meanwhile. */
  readonly #volumes = new Map<string, { readonly name: string; readonly node: string; made: boolean }>()
  /** Since when an attachment is not wanted, in milliseconds of the monotonic clock. */
  readonly detachSince = new Map<string, number>()
  /** The volumes of which pods on a node were told that they cannot have them, by node. */
  readonly reported = new Map<string, Set<string>>()
  /** The errors of attachers that pods were told of, by attachment. */
  readonly errors = new Map<string, string>()
  /** What a node had mounted when it was last seen, if it had anything. */
  readonly lastInUse = new Map<string, readonly string[]>()

  /** Called when an attachment is created, which the informer shows later. */
  made(attachment: string, csi: CsiSource, node: string): void {
    this.#volumes.set(attachment, { name: csiVolumeName(csi), node, made: true })
  }

  /** Called when an attachment could not be created: no other node has to wait for it. */
  notMade(attachment: string): void {
    this.#volumes.delete(attachment)
  }

  seen({ metadata: { name = "" } }: VolumeAttachment, deleted: boolean): void {
    const known = this.#volumes.get(name)
    if (known !== undefined) known.made = false
    if (!deleted) return
    this.#volumes.delete(name)
    this.detachSince.delete(name)
    this.errors.delete(name)
  }

  /** Returns the attachments of a node that this controller, or one before it, has made; others are not its own. */
  on(node: string, informers: Informers): readonly OwnAttachment[] {
    return informers
      .of(VolumeAttachment)
      .by(attachmentsByNode, node)
      .flatMap((attachment) => {
        const name = this.#volumeOf(attachment, informers)
        return name === undefined ? [] : [{ name, attachment }]
      })
  }

  /** Returns the other nodes to which a volume is attached, or is being attached or detached. */
  othersWith(volume: string, node: string, informers: Informers): readonly string[] {
    const seen = informers
      .of(VolumeAttachment)
      .list()
      .filter((attachment) => this.#volumeOf(attachment, informers) === volume)
      .map(({ spec }) => spec.nodeName)
    const made = [...this.#volumes.values()].filter((known) => known.made && known.name === volume)
    return [...new Set([...seen, ...made.map((known) => known.node)])].filter((other) => other !== node)
  }

  #volumeOf({ metadata: { name = "" }, spec }: VolumeAttachment, informers: Informers): string | undefined {
    const known = this.#volumes.get(name)
    if (known !== undefined) return known.name
    const csi = informers.of(PersistentVolume).get(spec.source.persistentVolumeName ?? "")?.spec.csi
    if (csi === undefined || attachmentName(csi, spec.nodeName) !== name) return undefined
    this.#volumes.set(name, { name: csiVolumeName(csi), node: spec.nodeName, made: false })
    return csiVolumeName(csi)
  }
}
