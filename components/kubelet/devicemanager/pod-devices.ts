import { join } from "node:path"
import type { PodFiles } from "../runtime/runtime.ts"
import { CHECKPOINT_FILE, encodeCheckpoint } from "./device-checkpoint.ts"
import type { Allocation } from "./allocation.ts"

/**
 * Which container has which devices, in memory and in a file, so that containers keep their devices when another
 * kubelet process goes on. Source: pkg/kubelet/cm/devicemanager/pod_devices.go, checkpoint/checkpoint.go. Differs from
 * upstream: the file is in the kubelet's own folder, and has a format of its own.
 */
export class PodDevices {
  readonly #files: PodFiles
  readonly #path: string
  /** By the uid of the pod. */
  readonly #pods = new Map<string, Allocation[]>()
  #writing: Promise<void> = Promise.resolve()

  constructor(files: PodFiles, root: string) {
    this.#files = files
    this.#path = join(root, CHECKPOINT_FILE)
  }

  /** Reads the file. Returns the resources that had plugins then. @throws Error for a file that cannot be read */
  async load(): Promise<readonly string[]> {
    const text = await this.#files.read(this.#path)
    if (text === undefined) return []
    const { decodeCheckpoint } = await import("./decode-device-checkpoint.ts")
    const { allocations, resources } = decodeCheckpoint(text)
    for (const allocation of allocations) this.#pods.set(allocation.podUid, [...this.of(allocation.podUid), allocation])
    return resources
  }

  /** Writes the file as things are now; `resources` are those with plugins. Writes run one after the other. */
  save(resources: readonly string[]): Promise<void> {
    const text = encodeCheckpoint({ allocations: [...this.#pods.values()].flat(), resources })
    const written = this.#writing.then(async () => {
      await this.#files.write(`${this.#path}.tmp`, text, 0o600)
      await this.#files.rename(`${this.#path}.tmp`, this.#path)
    })
    this.#writing = written.catch(() => undefined)
    return written
  }

  pods(): readonly string[] {
    return [...this.#pods.keys()]
  }

  of(podUid: string): readonly Allocation[] {
    return this.#pods.get(podUid) ?? []
  }

  ofContainer(podUid: string, name: string): readonly Allocation[] {
    return this.of(podUid).filter(({ container }) => container === name)
  }

  add(allocation: Allocation): void {
    const { podUid, container, resource } = allocation
    const others = this.of(podUid).filter((other) => other.container !== container || other.resource !== resource)
    this.#pods.set(podUid, [...others, allocation])
  }

  remove(podUid: string): void {
    this.#pods.delete(podUid)
  }

  /** Returns the devices of the resource that containers have. */
  inUse(resource: string): Set<string> {
    const all = [...this.#pods.values()].flat().filter((allocation) => allocation.resource === resource)
    return new Set(all.flatMap(({ deviceIds }) => deviceIds))
  }

  resources(): ReadonlySet<string> {
    return new Set([...this.#pods.values()].flat().map(({ resource }) => resource))
  }
}
