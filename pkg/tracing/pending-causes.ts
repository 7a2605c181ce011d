import { MOST_LINKS } from "./limits.ts"
import type { Cause, Tracing } from "./tracing.ts"

/** An object that was written. */
interface Written {
  readonly metadata: { readonly resourceVersion?: string | undefined }
}

/** Collects the causes of work that waits in a queue, by the key of the work. */
export class PendingCauses {
  readonly #tracing: Tracing
  readonly #byKey = new Map<string, Cause[]>()

  constructor(tracing: Tracing) {
    this.#tracing = tracing
  }

  /** Records that the write of `object` is a cause of work on a key. */
  add(key: string, { metadata }: Written): void {
    const cause = this.#tracing.causes.of(metadata.resourceVersion)
    if (cause === undefined) return
    const causes = this.#byKey.get(key)
    if (causes === undefined) this.#byKey.set(key, [cause])
    else if (causes.length <= MOST_LINKS) causes.push(cause)
  }

  /** Returns the causes of work on a key, and removes them. */
  take(key: string): readonly Cause[] {
    const causes = this.#byKey.get(key) ?? []
    this.#byKey.delete(key)
    return causes
  }
}
