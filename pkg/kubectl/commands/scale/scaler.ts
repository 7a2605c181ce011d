import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import { sleep } from "../../../clock/clock.ts"
import type { Environment } from "../../environment/environment.ts"
import { isConflict } from "../../errors/status-error.ts"
import type { Info } from "../../resource/info.ts"
import { goJson, type Unstructured } from "../../rest/json.ts"

const INTERVAL_MS = 1000
const RETRY_MS = 300_000

/** What must be true for the size to change. */
export interface ScalePrecondition {
  /** -1: any. */
  readonly replicas: number
  /** Empty: any. */
  readonly resourceVersion: string
}

interface Scale extends Unstructured {
  spec?: { replicas?: number }
  status?: { replicas?: number }
}

export interface ScaleOptions {
  readonly environment: Environment
  readonly replicas: number
  readonly precondition: ScalePrecondition | undefined
  /** How long to wait until the size is reached; undefined: not at all. */
  readonly waitMs: number | undefined
  readonly serverDryRun: boolean
}

/**
 * Sets the size of an object through its subresource `scale`, again when others change it meanwhile. Returns the size
 * that the server has taken. Source: kubectl pkg/scale/scale.go.
 */
export async function scale(info: Info, options: ScaleOptions): Promise<number> {
  const { clock, interrupt } = options.environment
  const end = clock.monotonic() + RETRY_MS
  let size: number
  for (;;)
    try {
      size = await scaleOnce(info, options)
      break
    } catch (err) {
      if (!isConflict(err)) throw err
      if (clock.monotonic() >= end) throw new Error("context deadline exceeded", { cause: err })
      await sleep(clock, INTERVAL_MS, interrupt)
    }
  if (options.waitMs !== undefined) await untilScaled(info, options, options.waitMs)
  return size
}

async function scaleOnce(info: Info, { precondition, replicas, serverDryRun }: ScaleOptions): Promise<number> {
  const { helper, namespace, name } = info
  const writes = { subresource: "scale", serverDryRun }
  if (precondition === undefined) {
    const body = goJson({ spec: { replicas } })
    const after: Scale = await helper.patch(namespace, name, "application/merge-patch+json", body, writes)
    return after.spec?.replicas ?? 0
  }
  const before: Scale = await helper.get(namespace, name, "scale")
  check(before, precondition)
  const after: Scale = await helper.replace(namespace, name, { ...before, spec: { ...before.spec, replicas } }, writes)
  return after.spec?.replicas ?? 0
}

function check({ spec, metadata }: Scale, { replicas, resourceVersion }: ScalePrecondition): void {
  const size = spec?.replicas ?? 0
  if (replicas !== -1 && size !== replicas) throw new Error(`Expected replicas to be ${replicas}, was ${size}`)
  const version = metadata?.resourceVersion ?? ""
  if (resourceVersion !== "" && version !== resourceVersion)
    throw new Error(`Expected resource version to be ${resourceVersion}, was ${version}`)
}

async function untilScaled(info: Info, { environment, replicas }: ScaleOptions, waitMs: number): Promise<void> {
  const { clock, interrupt } = environment
  const end = clock.monotonic() + waitMs
  for (;;) {
    const { spec, status }: Scale = await info.helper.get(info.namespace, info.name, "scale")
    // Another size means that others have changed it again.
    if ((spec?.replicas ?? 0) !== replicas || (status?.replicas ?? 0) === replicas) return
    if (clock.monotonic() + INTERVAL_MS > end)
      throw new Error(`timed out waiting for ${goQuoted(info.name)} to be synced`)
    await sleep(clock, INTERVAL_MS, interrupt)
  }
}
