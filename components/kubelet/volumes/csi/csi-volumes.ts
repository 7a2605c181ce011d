import { join } from "node:path"
import { isNotFound } from "../../../../pkg/apimachinery/errors.ts"
import { Node } from "../../../../pkg/api/core/v1/node/node.ts"
import type { PersistentVolume } from "../../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import { CSIDriver } from "../../../../pkg/api/storage/v1/csidriver.ts"
import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import { csiVolumeName } from "../../../../pkg/pods/csi-volumes.ts"
import { MountError, NotAttached } from "../../model/start-error.ts"
import type { KubeletContext } from "../../context.ts"
import type { CsiDrivers, CsiNodeDriver, CsiNodeVolume } from "../../runtime/csi-driver.ts"
import { csiFolder, dataFileIn, stagingPath, targetIn } from "./csi-paths.ts"
import { withDeadline } from "./deadline.ts"
import { dataText, parseData, UsedVolume, type VolumeData } from "./used-volume.ts"

export interface CsiVolumesParts {
  readonly context: KubeletContext
  readonly drivers: CsiDrivers
  /** Called when the volumes in the Node's status have changed. */
  readonly changed: () => void
  /** Called when the volume for which a pod waits is attached. */
  readonly worthTrying: (podUid: string) => void
}

/**
 * The volumes of CSI drivers on this node. A volume is in the Node's `volumesInUse` from when the first pod wants it
 * until the last one's is unmounted; it is mounted once the Node says that it is in use and attached. Source:
 * pkg/kubelet/volumemanager, pkg/volume/csi. Differs from upstream: the status is written at once, not within 10 s, and
 * waits are ended by the watch of the Node.
 */
export class CsiVolumes {
  readonly #parts: CsiVolumesParts
  readonly #used = new Map<string, UsedVolume>()
  #unfollow: (() => void) | undefined
  /** Whether the volumes from before a restart are known. */
  #isRestored = false

  constructor(parts: CsiVolumesParts) {
    this.#parts = parts
  }

  /** Returns the volumes for the Node's status, by name; undefined while those from before a restart are unknown. */
  inUse(): readonly string[] | undefined {
    if (!this.#isRestored) return undefined
    return [...this.#used.values()].flatMap(({ isAttached, name }) => (isAttached ? [name] : [])).toSorted()
  }

  /** Reads which volumes pods had before the kubelet was started again. */
  async restore(podUids: readonly string[]): Promise<void> {
    const { config, runtime } = this.#parts.context
    for (const uid of podUids)
      for (const folder of await runtime.files.list(csiFolder(config, uid))) {
        const data = await this.#read(join(csiFolder(config, uid), folder))
        if (data !== undefined) this.#use(data).pods.add(uid)
      }
    this.#isRestored = true
  }

  /**
   * Mounts a volume for a pod. Returns the folder. @throws NotAttached while it is not attached; MountError when the
   * driver fails
   */
  async mount(pod: Pod, { metadata, spec }: PersistentVolume, signal: AbortSignal): Promise<string> {
    const { context } = this.#parts
    const { config, runtime } = context
    const { csi, accessModes = [] } = spec
    const uid = pod.metadata.uid!
    const name = metadata.name!
    const known = this.#used.get(csiVolumeName(csi!))
    const isAttached = known?.isAttached ?? (await this.#isToAttach(csi!.driver))
    signal.throwIfAborted()
    const used = this.#use({ driver: csi!.driver, volumeHandle: csi!.volumeHandle, isAttached })
    used.pods.add(uid)
    if (used.isAttached && !this.#isAttachedNow(used.name)) {
      used.waiting.add(uid)
      this.#follow()
      throw new NotAttached(`volume ${used.name} is not yet in node's status`)
    }
    used.waiting.delete(uid)
    const driver = this.#driver(used.driver, name)
    await this.#stage(used, driver, name, signal)
    if (accessModes.length === 1 && accessModes[0] === "ReadWriteOncePod" && used.pods.size > 1)
      throw new MountError(
        "SetUp",
        name,
        "volume uses the ReadWriteOncePod access mode and is already in use by another pod",
      )
    const folder = join(csiFolder(config, uid), name)
    await runtime.files.makeFolder(folder)
    await runtime.files.write(dataFileIn(folder), dataText(used))
    const target = targetIn(folder)
    const published = withDeadline(context.clock, signal, (ending) =>
      driver.publish(this.#volume(used), target, ending),
    )
    await published.catch((err: unknown) => {
      signal.throwIfAborted()
      throw new MountError("SetUp", name, errorMessage(err))
    })
    return target
  }

  /** Unmounts the volumes of a pod, and from the node those that no other pod there has. */
  async unmount(podUid: string): Promise<void> {
    const { config, runtime } = this.#parts.context
    const folder = csiFolder(config, podUid)
    for (const name of await runtime.files.list(folder)) {
      const data = await this.#read(join(folder, name))
      if (data === undefined) continue
      await this.#parts.drivers.get(data.driver)?.unpublish(data.volumeHandle, targetIn(join(folder, name)))
      this.#use(data).pods.add(podUid)
    }
    for (const used of [...this.#used.values()]) {
      if (!used.pods.has(podUid)) continue
      if (used.pods.size === 1) await this.#unstage(used)
      used.pods.delete(podUid)
      used.waiting.delete(podUid)
      // A pod may have come meanwhile.
      if (used.pods.size > 0) continue
      this.#used.delete(used.name)
      this.#parts.changed()
    }
  }

  stop(): void {
    this.#unfollow?.()
  }

  #use(data: VolumeData): UsedVolume {
    const found = this.#used.get(csiVolumeName(data))
    if (found !== undefined) return found
    const used = new UsedVolume(data)
    this.#used.set(used.name, used)
    this.#parts.changed()
    return used
  }

  /** Stages a volume once for all pods of the node. */
  async #stage(used: UsedVolume, driver: CsiNodeDriver, name: string, signal: AbortSignal): Promise<void> {
    const { context } = this.#parts
    await used.unstaging?.catch(() => undefined)
    const isOthers = used.staged !== undefined
    const staging = (used.staged ??= withDeadline(context.clock, signal, (ending) =>
      driver.stage(this.#volume(used), ending),
    ))
    try {
      await staging
    } catch (err) {
      if (used.staged === staging) used.staged = undefined
      signal.throwIfAborted()
      // The pod whose call it was may have been deleted.
      if (isOthers) return this.#stage(used, driver, name, signal)
      throw new MountError("MountDevice", name, errorMessage(err))
    }
  }

  async #unstage(used: UsedVolume): Promise<void> {
    used.staged = undefined
    used.unstaging = this.#parts.drivers.get(used.driver)?.unstage(this.#volume(used))
    await used.unstaging
    used.unstaging = undefined
  }

  #volume(used: UsedVolume): CsiNodeVolume {
    return { handle: used.volumeHandle, stagingPath: stagingPath(this.#parts.context.config, used) }
  }

  #driver(driver: string, volume: string): CsiNodeDriver {
    const found = this.#parts.drivers.get(driver)
    if (found !== undefined) return found
    const why = `driver name ${driver} not found in the list of registered CSI drivers`
    throw new MountError(
      "MountDevice",
      volume,
      `kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: ${why}`,
    )
  }

  /** Whether a driver attaches its volumes to nodes; one without a CSIDriver does. */
  async #isToAttach(name: string): Promise<boolean> {
    const found = await this.#parts.context.client.get(CSIDriver, { name }).catch((err: unknown) => {
      if (isNotFound(err)) return undefined
      throw err
    })
    return found?.spec.attachRequired !== false
  }

  get #node(): Node | undefined {
    const { informers, config } = this.#parts.context
    return informers.of(Node).get(config.nodeName)
  }

  /** Whether the Node says that the volume is in use here and attached, so that it is not detached meanwhile. */
  #isAttachedNow(name: string): boolean {
    const { volumesInUse = [], volumesAttached = [] } = this.#node?.status ?? {}
    return volumesInUse.includes(name) && volumesAttached.some((attached) => attached.name === name)
  }

  /** Tells pods when the volume for which they wait is attached. */
  #follow(): void {
    const { context, worthTrying } = this.#parts
    const check = ({ metadata }: Node) => {
      if (metadata.name !== context.config.nodeName) return
      for (const { name, waiting } of this.#used.values()) {
        if (waiting.size === 0 || !this.#isAttachedNow(name)) continue
        const pods = [...waiting]
        waiting.clear()
        pods.forEach(worthTrying)
      }
    }
    this.#unfollow ??= context.informers.of(Node).on({ added: check, updated: check })
  }

  async #read(folder: string): Promise<VolumeData | undefined> {
    return parseData(await this.#parts.context.runtime.files.read(dataFileIn(folder)))
  }
}
