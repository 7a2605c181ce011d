import { createHash } from "node:crypto"
import type * as kinds from "../../pkg/k3s-kinds/addon.ts"
import { isNotFound } from "../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../pkg/apimachinery/resource.ts"
import type { Timer } from "../../pkg/clock/clock.ts"
import type { ComponentContext } from "../../pkg/component/component.ts"
import { createEventRecorder } from "../../pkg/controller/event-recorder.ts"
import type { EventRecorder } from "../../pkg/controller/events.ts"
import { errorMessage } from "../../pkg/errors/error-message.ts"

type Addon = kinds.Addon

/** What has become of a manifest. */
export type Outcome =
  | { readonly kind: "applied"; readonly text: string }
  | { readonly kind: "failed"; readonly text: string; readonly message: string }
  | { readonly kind: "removed" }

const NAMESPACE = "kube-system"
const LOOK_AGAIN_MS = 1000
/** How often the kind is looked for after a start, in which it is served a little later. */
const MOST_LOOKS = 30

/** Returns the name of the Addon of a file: its own without its end. Source: k3s-io/k3s pkg/deploy basename. */
export const addonName = (file: string): string =>
  file
    .replace(/^.*\//, "")
    .replace(/\.[^.]*$/, "")
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, "-")
    .replace(/^[.-]+|(?<![.-])[.-]+$/g, "")

/**
 * Shows the manifests of the folder as Addons, with Events about what has become of them, as k3s does. Nothing depends
 * on them: where the kind is not served, nothing is written.
 */
export class Addons {
  readonly #context: ComponentContext
  readonly #resourceOf: (apiVersion: string, kind: string) => Resource | undefined
  readonly #waiting = new Map<string, Outcome>()
  #events: EventRecorder | undefined
  #looks = 0
  #timer: Timer | undefined
  #work = Promise.resolve()

  constructor(context: ComponentContext, resourceOf: (apiVersion: string, kind: string) => Resource | undefined) {
    this.#context = context
    this.#resourceOf = resourceOf
  }

  /** Notes what has become of a file. */
  note(file: string, outcome: Outcome): void {
    this.#waiting.set(file, outcome)
    this.#flush()
  }

  async stop(): Promise<void> {
    this.#timer?.cancel()
    this.#waiting.clear()
    await this.#work
    await this.#events?.stop()
    this.#events = undefined
  }

  #flush(): void {
    this.#timer?.cancel()
    const resource = this.#resourceOf("k3s.cattle.io/v1", "Addon") as Resource<Addon> | undefined
    if (resource === undefined) {
      if (this.#waiting.size > 0 && this.#looks++ < MOST_LOOKS)
        this.#timer = this.#context.clock.setTimeout(() => this.#flush(), LOOK_AGAIN_MS, "upkeep")
      return
    }
    const all = [...this.#waiting]
    this.#waiting.clear()
    const before = this.#work
    this.#work = (async () => {
      await before
      for (const [file, outcome] of all) {
        try {
          await this.#write(resource, file, outcome)
        } catch (err) {
          this.#context.log.warn("Failed to write the Addon of a manifest", { file, err: errorMessage(err) })
        }
      }
    })()
  }

  async #write(resource: Resource<Addon>, file: string, outcome: Outcome): Promise<void> {
    const { client, log } = this.#context
    const ref = { namespace: NAMESPACE, name: addonName(file) }
    if (ref.name === "") return
    this.#events ??= createEventRecorder({ ...this.#context, log }, "deploy")
    const tell = (about: KubeObject, type: "Normal" | "Warning", reason: string, message: string) =>
      this.#events?.event(about, type, reason, message)
    if (outcome.kind === "removed") {
      const found = await client.get(resource, ref).catch((err: unknown) => {
        if (isNotFound(err)) return undefined
        throw err
      })
      if (found?.spec.source !== file) return
      tell(found, "Normal", "DeletingManifest", `Deleting manifest ${JSON.stringify(file)}`)
      await client.delete(resource, ref)
      return
    }
    const checksum = createHash("sha256").update(outcome.text).digest("hex")
    const body = { apiVersion: "k3s.cattle.io/v1", kind: "Addon", metadata: ref, spec: { source: file, checksum } }
    const before = await client.get(resource, ref).catch(() => undefined)
    const isNew = before?.spec.checksum !== checksum || before.spec.source !== file
    const addon = isNew
      ? await client.patch(resource, ref, { type: "apply", body }, { fieldManager: "k3ts-deployer", force: true })
      : before
    if (outcome.kind === "failed") tell(addon, "Warning", "ApplyManifestFailed", outcome.message)
    else if (isNew) tell(addon, "Normal", "AppliedManifest", `Applied manifest at ${JSON.stringify(file)}`)
  }
}
