import { csiVolumeName, type CsiSource } from "../../../../pkg/pods/csi-volumes.ts"

/** What a volume's folder remembers of it. Source: pkg/volume/csi volDataKey. */
export interface VolumeData extends CsiSource {
  /** Whether the volume is attached to nodes before they mount it. */
  readonly isAttached: boolean
}

/** A volume of a CSI driver that pods of this node have, or wait for. */
export class UsedVolume implements VolumeData {
  readonly driver: string
  readonly volumeHandle: string
  readonly isAttached: boolean
  /** The uids of the pods that want it or still have it. */
  readonly pods = new Set<string>()
  /** The uids of the pods that wait until it is attached. */
  readonly waiting = new Set<string>()
  /** The call that stages it, or has done so. */
  staged: Promise<void> | undefined
  /** The call that unstages it. */
  unstaging: Promise<void> | undefined

  constructor({ driver, volumeHandle, isAttached }: VolumeData) {
    this.driver = driver
    this.volumeHandle = volumeHandle
    this.isAttached = isAttached
  }

  /** Its name in the status of Nodes. */
  get name(): string {
    return csiVolumeName(this)
  }
}

/** Returns the text of a volume's data. */
export const dataText = ({ driver, volumeHandle, isAttached }: VolumeData): string =>
  JSON.stringify({ driverName: driver, volumeHandle, isAttached })

/** Reads a volume's data; undefined for a text that is none. */
export function parseData(text: string | undefined): VolumeData | undefined {
  try {
    const read: unknown = JSON.parse(text ?? "")
    if (typeof read !== "object" || read === null) return undefined
    const { driverName: driver, volumeHandle, isAttached } = read as Readonly<Record<string, unknown>>
    if (typeof driver !== "string" || typeof volumeHandle !== "string") return undefined
    return { driver, volumeHandle, isAttached: isAttached === true }
  } catch {
    return undefined
  }
}
