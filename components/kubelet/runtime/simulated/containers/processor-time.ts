import { errorMessage } from "../../../../../pkg/errors/error-message.ts"
import type { ContainerHandle, ImageBehaviour } from "./behaviour.ts"

/**
 * The processor time of a container whose image says how many cores it uses. Between two counts the usage is taken to
 * be what it is at the second one, so no timer is needed.
 */
export class ProcessorTime {
  nanoseconds = 0
  #countedUntil: number
  readonly #cores: NonNullable<ImageBehaviour["cpu"]>
  readonly #failed: (failure: Error) => void
  #hasFailed = false

  /** `since` is when the container was started; `failed` is called once, when the image's function fails. */
  constructor(cores: NonNullable<ImageBehaviour["cpu"]>, since: number, failed: (failure: Error) => void) {
    this.#cores = cores
    this.#countedUntil = since
    this.#failed = failed
  }

  /** Counts the time of a running container until now, and returns all of it, in nanoseconds. */
  count(container: ContainerHandle & { readonly image: string }): number {
    const now = container.now()
    if (now > this.#countedUntil) {
      this.nanoseconds += Math.round(this.#coresOf(container) * (now - this.#countedUntil) * 1e6)
      this.#countedUntil = now
    }
    return this.nanoseconds
  }

  /** Returns how many cores are in use now; 0 when the image's function fails. */
  #coresOf(container: ContainerHandle & { readonly image: string }): number {
    try {
      const cores: unknown = this.#cores(container)
      if (typeof cores === "number" && cores >= 0 && cores < Infinity) return cores
      throw new TypeError(`it returned ${String(cores)}, expected a number of cores, 0 or more, such as 0.25`)
    } catch (err) {
      if (!this.#hasFailed) {
        const { namespace, name } = container.pod
        const why = errorMessage(err)
        const about = `The function "cpu" of image "${container.image}" failed for container "${container.name}" of pod`
        this.#failed(new Error(`${about} ${namespace}/${name}: ${why}`, { cause: err }))
      }
      this.#hasFailed = true
      return 0
    }
  }
}
