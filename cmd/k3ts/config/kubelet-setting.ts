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

export function timed<T>(given: string, made: (ms: number) => T): T | undefined {
  const seconds = durationIn(given)
  return seconds === undefined ? undefined : made(seconds * 1000)
}
