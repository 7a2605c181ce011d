import { createHash } from "node:crypto"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import { CriError } from "../../../../pkg/cri/errors.ts"
import type { Image } from "../../../../pkg/cri/image.ts"
import type { ImageService } from "../../../../pkg/cri/service.ts"
import { familiar, type ImageBehaviours } from "./containers/behaviour.ts"
import type { NodeFaults } from "./faults.ts"

const SIZE = 5_000_000

/** An image that a node has: its names, some with a digest, and its size in bytes. */
export interface PresentImage {
  readonly names: readonly string[]
  readonly size?: number | undefined
}

/** The images of one simulated node. Any image can be pulled, with or without a behaviour. */
export class SimulatedImages implements ImageService {
  /** By the reference that was pulled, by digest and by id. */
  readonly #images = new Map<string, Image>()
  readonly #behaviours: ImageBehaviours
  readonly #clock: Clock
  readonly #faults: NodeFaults

  constructor(behaviours: ImageBehaviours, clock: Clock, faults: NodeFaults) {
    this.#behaviours = behaviours
    this.#clock = clock
    this.#faults = faults
  }

  /** Adds an image that the node has from before. */
  add({ names, size }: PresentImage): void {
    const [ref] = names
    if (ref === undefined) return
    const { sizeBytes = SIZE, uid = 0 } = this.#behaviours.of(ref)
    const digests = names.filter((name) => name.includes("@"))
    const made = imageOf(ref, size ?? sizeBytes, uid)
    const known = names.map((name) => this.#images.get(name)).find((image) => image !== undefined)
    const image = known ?? (digests.length === 0 ? made : { ...made, repoDigests: digests })
    for (const name of [...names, ...names.map(familiar), image.id, ...image.repoDigests])
      if (!this.#images.has(name)) this.#images.set(name, image)
  }

  async listImages(image?: string): Promise<readonly Image[]> {
    if (image !== undefined) return [this.#images.get(image)].filter((found) => found !== undefined)
    return [...new Set(this.#images.values())]
  }

  async imageStatus(image: string): Promise<Image | undefined> {
    return this.#images.get(image)
  }

  async pullImage(
    spec: { readonly image?: string },
    _auth?: unknown,
    _sandbox?: unknown,
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<string> {
    const ref = spec.image ?? ""
    const { pullMs = 0, pullError, sizeBytes = SIZE, uid = 0 } = this.#behaviours.of(ref)
    await this.#faults.take(pullMs, { clock: this.#clock, method: "PullImage", signal: options?.signal })
    const refusal = this.#faults.pullFailure(ref) ?? pullError
    if (refusal !== undefined) throw new CriError("Unknown", "PullImage", refusal)
    const known = this.#images.get(ref)
    if (known !== undefined) return known.id
    const made = imageOf(ref, sizeBytes, uid)
    const image = this.#images.get(made.id) ?? made
    for (const name of [ref, image.id, ...image.repoDigests]) this.#images.set(name, image)
    return image.id
  }

  async removeImage(image: string): Promise<void> {
    const found = this.#images.get(image)
    for (const [name, one] of this.#images) if (one === found) this.#images.delete(name)
  }

  async imageFsInfo(): ReturnType<ImageService["imageFsInfo"]> {
    const used = [...new Set(this.#images.values())].reduce((sum, { size }) => sum + size, 0)
    const usage = {
      timestamp: this.#clock.now() * 1e6,
      fsId: { mountpoint: "/var/lib/simulated" },
      usedBytes: { value: used },
      inodesUsed: { value: this.#images.size },
    }
    return { imageFilesystems: [usage], containerFilesystems: [] }
  }

  /** Returns the name that users write for an image id or reference. */
  nameOf(idOrRef: string): string {
    const image = this.#images.get(idOrRef)
    return image?.repoTags[0] ?? image?.repoDigests[0] ?? idOrRef
  }
}

/** Images are equal on all nodes, so the nodes share one description per reference. */
const made = new Map<string, Image>()
const MOST_REMEMBERED = 1000

function imageOf(ref: string, size: number, uid: number): Image {
  const key = `${ref} ${size} ${uid}`
  let image = made.get(key)
  if (image === undefined) {
    const digest = createHash("sha256").update(ref).digest("hex")
    const name = ref.replace(/@sha256:.*$/, "")
    const repository = name.replace(/:[^/:]*$/, "")
    image = {
      id: `sha256:${createHash("sha256").update(digest).digest("hex")}`,
      repoTags: ref.includes("@") ? [] : [name],
      repoDigests: [ref.includes("@") ? ref : `${repository}@sha256:${digest}`],
      size,
      uid: { value: uid },
      username: "",
      spec: undefined,
      pinned: false,
    } satisfies Image
    if (made.size >= MOST_REMEMBERED) made.clear()
    made.set(key, image)
  }
  return image
}
