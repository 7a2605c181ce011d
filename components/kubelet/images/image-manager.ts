import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { formatDuration } from "../../../pkg/apimachinery/scalars/time.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import type { AuthConfig, Image } from "../../../pkg/cri/image.ts"
import type { PodSandboxConfig } from "../../../pkg/cri/sandbox.ts"
import { Slots } from "../model/slots.ts"
import { tuningOf } from "../model/tuning.ts"
import { Backoff } from "../model/backoff.ts"
import type { AnyContainer } from "../model/containers.ts"
import type { KubeletContext } from "../context.ts"
import { StartError } from "../model/start-error.ts"
import { presentImage } from "../../../pkg/cri/arriving-image.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { credentialsFor, type Credential } from "./credentials.ts"
import { parseImageName, type ImageName } from "./image-name.ts"
import { PullRecords } from "./pull-records.ts"

/** A container, or a volume that shows an image. */
export type ImageUser = Pick<AnyContainer, "image" | "imagePullPolicy">

export interface ImageRequest {
  readonly pod: Pod
  readonly container: ImageUser
  /** The path of the container in the pod, for events; undefined for a volume. */
  readonly fieldPath: string | undefined
  readonly sandbox: PodSandboxConfig | undefined
  readonly signal: AbortSignal
}

/** Finds or pulls the images of containers. Source: pkg/kubelet/images/image_manager.go. */
export class ImageManager {
  readonly #context: KubeletContext
  readonly #onPulled: () => void
  readonly #backoff: Backoff
  readonly #pulls: Slots
  readonly #records: PullRecords
  readonly #failures = new Map<string, { readonly at: number; readonly message: string }>()
  /** When each image was last requested, by its id, in milliseconds since the epoch, for garbage collection. */
  readonly lastUsed = new Map<string, number>()

  /** `onPulled` is called after the pull of an image that the node did not have. */
  constructor(context: KubeletContext, onPulled: () => void = () => {}) {
    this.#context = context
    this.#onPulled = onPulled
    this.#records = new PullRecords(context)
    this.#pulls = new Slots(tuningOf(context.config).mostPulls)
    this.#backoff = new Backoff({ now: () => context.clock.monotonic(), monotonic: () => context.clock.monotonic() })
  }

  /** Returns the milliseconds until a pull may be retried. */
  waitFor(pod: Pod, container: ImageUser): number {
    const key = keyOf(pod, container)
    const failure = this.#failures.get(key)
    return failure === undefined ? 0 : this.#backoff.remaining(key, failure.at)
  }

  forget(podUid: string): void {
    this.#backoff.forget(`${podUid}_`)
    for (const key of this.#failures.keys()) if (key.startsWith(`${podUid}_`)) this.#failures.delete(key)
  }

  /** Called when an image was removed from the node. */
  async removed(image: Image): Promise<void> {
    this.lastUsed.delete(image.id)
    await this.#records.removed(image)
  }

  /** @throws StartError */
  async ensure(request: ImageRequest): Promise<Image> {
    const image = await this.#ensure(request)
    this.lastUsed.set(image.id, this.#context.clock.now())
    return image
  }

  async #ensure(request: ImageRequest): Promise<Image> {
    const { pod, container, fieldPath, signal } = request
    const { events, runtime, clock } = this.#context
    const text = container.image ?? ""
    const warn = (reason: string, message: string) => events.event(pod, "Warning", reason, message, fieldPath)
    let name: ImageName
    try {
      name = parseImageName(text)
    } catch (err) {
      const message = `Failed to apply default image tag "${text}": ${(err as Error).message}`
      warn("InspectFailed", message)
      throw new StartError("InvalidImageName", message)
    }
    let present: Image | undefined
    try {
      present = await presentImage(runtime, name.tagged, signal)
    } catch (err) {
      signal.throwIfAborted()
      const message = `Failed to inspect image "${text}": ${errorMessage(err)}`
      warn("InspectFailed", message)
      throw new StartError("ImageInspectError", message)
    }
    const policy = container.imagePullPolicy ?? "IfNotPresent"
    let credentials: Promise<readonly Credential[]> | undefined
    const ownCredentials = () =>
      (credentials ??= this.#pullSecrets(pod).then((secrets) => credentialsFor(name, secrets)))
    if (
      present !== undefined &&
      policy !== "Always" &&
      !(await this.#records.mustPull(name, present, ownCredentials))
    ) {
      events.event(
        pod,
        "Normal",
        "Pulled",
        `Container image "${text}" already present on machine and can be accessed by the pod`,
        fieldPath,
      )
      return present
    }
    if (policy === "Never") {
      const message = `Container image "${text}" is not present with pull policy of Never`
      warn("ErrImageNeverPull", message)
      throw new StartError("ErrImageNeverPull", message)
    }
    const key = keyOf(pod, container)
    const failure = this.#failures.get(key)
    if (failure !== undefined && this.#backoff.remaining(key, failure.at) > 0) {
      const message = `Back-off pulling image "${text}"`
      events.event(pod, "Normal", "BackOff", message, fieldPath)
      throw new StartError("ImagePullBackOff", `${message}: ErrImagePull: ${failure.message}`)
    }
    events.event(pod, "Normal", "Pulling", `Pulling image "${text}"`, fieldPath)
    const began = clock.monotonic()
    try {
      let pulling = began
      const image = await this.#pulls.run(() => {
        signal.throwIfAborted() // the pod may have ended in the queue
        pulling = clock.monotonic()
        return this.#pull(name, request, ownCredentials)
      })
      const ended = clock.monotonic()
      const [took, waited] = [pulling, began].map((since) => formatDuration(Math.round(ended - since)))
      events.event(
        pod,
        "Normal",
        "Pulled",
        `Successfully pulled image "${text}" in ${took} (${waited} including waiting). Image size: ${image.size} bytes.`,
        fieldPath,
      )
      this.#failures.delete(key)
      if (present === undefined) this.#onPulled()
      return image
    } catch (err) {
      signal.throwIfAborted()
      const message = `failed to pull image "${text}": ${errorMessage(err)}`
      warn("Failed", `Failed to pull image "${text}": ${errorMessage(err)}`)
      const at = clock.monotonic()
      this.#backoff.next(key, at)
      this.#failures.set(key, { at, message })
      throw new StartError("ErrImagePull", message, { cause: err })
    }
  }

  async #pull(
    name: ImageName,
    request: ImageRequest,
    ownCredentials: () => Promise<readonly Credential[]>,
  ): Promise<Image> {
    const credentials = await ownCredentials()
    if (credentials.length === 0) {
      const image = await this.#pullWith(name, request, undefined)
      await this.#records.pulledByAnybody(name, image)
      return image
    }
    await this.#records.begin(name)
    let pulled: { readonly image: Image; readonly credential: Credential } | undefined
    try {
      let failure: unknown
      for (const credential of credentials) {
        try {
          pulled = { image: await this.#pullWith(name, request, credential.auth), credential }
          return pulled.image
        } catch (err) {
          failure = err
          if (request.signal.aborted) break
        }
      }
      throw failure
    } finally {
      await this.#records.end(name, pulled?.image, pulled?.credential)
    }
  }

  async #pullWith(
    name: ImageName,
    { pod, sandbox, signal }: ImageRequest,
    auth: AuthConfig | undefined,
  ): Promise<Image> {
    const { images } = this.#context.runtime
    const spec = { image: name.tagged, annotations: { ...pod.metadata.annotations } }
    const ref = await images.pullImage(spec, auth, sandbox, { signal })
    const image = await images.imageStatus(ref)
    if (image === undefined) throw new Error(`the runtime pulled ${ref} and does not have it`)
    return image
  }

  /** Returns the pull secrets that exist. A missing one is reported, and the pull continues without it. */
  async #pullSecrets(pod: Pod): Promise<readonly Secret[]> {
    const { client, events } = this.#context
    const found = await Promise.all(
      (pod.spec.imagePullSecrets ?? []).map(async ({ name }) => {
        try {
          return await client.get(Secret, { name, namespace: pod.metadata.namespace })
        } catch (err) {
          if (!isNotFound(err)) throw err
          events.event(
            pod,
            "Warning",
            "FailedToRetrieveImagePullSecret",
            `Unable to retrieve some image pull secrets (${name}); attempting to pull the image may not succeed.`,
          )
          return undefined
        }
      }),
    )
    return found.filter((secret) => secret !== undefined)
  }
}

const keyOf = (pod: Pod, container: ImageUser): string => `${pod.metadata.uid ?? ""}_${container.image ?? ""}`
