import type { Pod } from "../../pkg/api/core/v1/pod/pod.ts"

/** A pod in the queue. `attempts` counts scheduling attempts; `plugins` are those that refused the last one. */
export interface QueuedPod {
  pod: Pod
  readonly added: number
  attempts: number
  plugins: ReadonlySet<string>
}
