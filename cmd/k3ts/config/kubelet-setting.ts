import { parseDuration } from "../../../pkg/apimachinery/scalars/time.ts"
import { durationIn } from "../cli/values.ts"

/** A setting of the kubelet, as `--kubelet-arg` takes it. */
export interface Setting<Given> {
  /** What the value must be, with an example. */
  readonly form: string
  /** Returns undefined for a value that is none. */
  readonly read: (given: string) => Given | undefined
}

export function counted<T>(given: string, made: (count: number) => T): T | undefined {
  return /^[1-9]\d{0,3}$/.test(given) ? made(Number(given)) : undefined
}

/** Reads `7d`, and what upstream takes too: `1m30s`, `1.5h`, `500ms`. */
export function timed<T>(given: string, made: (ms: number) => T): T | undefined {
  const seconds = durationIn(given)
  const ms = seconds === undefined ? parseDuration(given) : seconds * 1000
  return ms === undefined || ms < 0 ? undefined : made(ms)
}
