import { applyMergePatch } from "../../../apimachinery/patch/merge.ts"
import { errorMessage } from "../../../errors/error-message.ts"
import { sleep } from "../../../clock/clock.ts"
import { StatusError, isConflict, isInvalid, isNotFound } from "../../errors/status-error.ts"
import { withSource } from "../../errors/source.ts"
import { threeWayMergePatch } from "../../patch/merge-patch.ts"
import { originalOf } from "../../last-applied.ts"
import { openApiMeta } from "../../patch/openapi-meta.ts"
import type { PatchMeta } from "../../patch/patch-meta.ts"
import { threeWayStrategicPatch, type ThreeWay } from "../../patch/three-way.ts"
import type { PatchType } from "../../resource/helper.ts"
import type { Info } from "../../resource/info.ts"
import { goJson, withoutVersion, type Unstructured } from "../../rest/json.ts"
import { isWithoutOpenApi, patchOperation, schemaOf } from "../../rest/openapi.ts"
import type { GroupVersionKind } from "../../rest/rest-mapper.ts"
import type { ApplyOptions } from "./apply-options.ts"

const MOST_RETRIES = 5
/** The first retry comes at once, the others after this time in milliseconds. */
const RETRY_MS = 1000
const DELETION_LOOK_MS = 1000

/** A patch as it was sent, and the object that came of it. */
export interface Patched {
  readonly patch: string
  readonly object: Unstructured
}

/**
 * Patches the object of the info into `modified`: again when others have changed it meanwhile; with `force` it is
 * deleted and created where that does not go. Source: kubectl pkg/cmd/apply/patcher.go.
 */
export async function patchCurrent(info: Info, modified: Unstructured, options: ApplyOptions): Promise<Patched> {
  let patch = ""
  const send = async (): Promise<Patched> => {
    const made = await patchOf(info, modified, options)
    patch = made.body
    return patch === "{}" ? { patch, object: info.loaded } : { patch, object: await sent(info, made, options) }
  }
  const described = info.text
  const failed = (err: unknown) => withSource(`applying patch:\n${patch}\nto:\n${described}\nfor:`, info.source, err)
  try {
    return await retried(info, send, options)
  } catch (err) {
    const canForce = options.force && options.dryRun === "none" && (isConflict(err) || isInvalid(err))
    if (!canForce) throw failed(options.dryRun === "client" ? err : withSource("patching", info.source, err))
  }
  patch = goJson(modified)
  try {
    return { patch, object: await recreated(info, modified, options) }
  } catch (err) {
    throw failed(err)
  }
}

async function retried(info: Info, send: () => Promise<Patched>, { factory }: ApplyOptions): Promise<Patched> {
  for (let attempt = 1; ; attempt++)
    try {
      return await send()
    } catch (err) {
      if (!isConflict(err) || attempt > MOST_RETRIES) throw err
      if (attempt > 1) await sleep(factory.environment.clock, RETRY_MS, factory.environment.interrupt)
      info.refresh(await info.helper.get(info.namespace, info.name))
    }
}

interface MadePatch {
  readonly type: PatchType
  readonly body: string
  readonly patch: object
}

/** Makes the patch, a strategic one where the server takes it. */
async function patchOf(info: Info, modified: Unstructured, options: ApplyOptions): Promise<MadePatch> {
  const current = info.loaded
  const states = { original: originalOf(current), modified, current } as unknown as ThreeWay
  const fields = await fieldsOf(info.mapping.kind, states, options)
  const patch = fields === undefined ? mergePatch(states) : fields.patch
  const type = fields === undefined ? "application/merge-patch+json" : "application/strategic-merge-patch+json"
  return { type, body: goJson(patch), patch }
}

/** @throws Error that shows the three states, as upstream's */
function mergePatch(states: ThreeWay): object {
  try {
    return threeWayMergePatch(states)
  } catch (err) {
    throw notMade(states, err)
  }
}

const notMade = ({ original, modified, current }: ThreeWay, err: unknown): Error =>
  new Error(
    `creating patch with:\noriginal:\n${goJson(original)}\nmodified:\n${goJson(modified)}\ncurrent:\n${goJson(current)}\nfor: ${errorMessage(err)}`,
    { cause: err },
  )

/** Returns the strategic patch; undefined for kinds that have none. */
async function fieldsOf(
  kind: GroupVersionKind,
  states: ThreeWay,
  { factory, openApiPatch, overwrite, errOut }: ApplyOptions,
): Promise<{ readonly patch: object } | undefined> {
  const published = openApiPatch ? await publishedMeta(kind, factory) : "unknown"
  if (published === undefined) return undefined
  if (published !== "unknown")
    try {
      return { patch: threeWayStrategicPatch(states, published, overwrite) }
    } catch (err) {
      await errOut.write(`warning: error calculating patch from openapi v3 spec: ${errorMessage(err)}\n`)
    }
  const { builtinMeta } = await import("../../patch/builtin-meta.ts")
  const known = await builtinMeta(kind)
  if (known === undefined) return undefined
  try {
    return { patch: threeWayStrategicPatch(states, known, overwrite) }
  } catch (err) {
    throw notMade(states, err)
  }
}

/** What the server's documents say of a kind; undefined where it takes no strategic patch of the kind. */
async function publishedMeta(
  kind: GroupVersionKind,
  factory: ApplyOptions["factory"],
): Promise<PatchMeta | "unknown" | undefined> {
  let document
  try {
    document = await (await factory.openApi()).document(kind)
  } catch (err) {
    if (isWithoutOpenApi(err) || err instanceof StatusError) return "unknown"
    throw err
  }
  const content = patchOperation(document, kind)?.requestBody?.content
  if (content === undefined) return "unknown"
  if (!("application/strategic-merge-patch+json" in content)) return undefined
  const schema = schemaOf(document, kind)
  return schema === undefined ? "unknown" : openApiMeta(schema, document.components?.schemas ?? {})
}

/** Returns a patch that the server refuses when the object has changed meanwhile. */
function locked(patch: object, { loaded }: Info): string {
  const { metadata, ...rest } = patch as Unstructured
  return goJson({ ...rest, metadata: { ...metadata, resourceVersion: loaded.metadata?.resourceVersion } })
}

async function sent(info: Info, { type, body, patch }: MadePatch, options: ApplyOptions): Promise<Unstructured> {
  const { dryRun, fieldManager, fieldValidation, locks = false } = options
  if (dryRun === "client") return locally(info, type, patch)
  return info.helper.patch(info.namespace, info.name, type, locks ? locked(patch, info) : body, {
    fieldManager,
    fieldValidation,
    serverDryRun: dryRun === "server",
  })
}

/** Returns what would come of a patch, without a server. */
async function locally(info: Info, type: PatchType, patch: object): Promise<Unstructured> {
  const current = info.loaded
  if (type === "application/merge-patch+json") return applyMergePatch(current, patch) as Unstructured
  const [{ applyStrategicMergePatch }, { builtinResource }] = await Promise.all([
    import("../../../apimachinery/patch/strategic.ts"),
    import("../../patch/builtin-meta.ts"),
  ])
  const resource = await builtinResource(info.mapping.kind)
  if (resource === undefined)
    throw new Error(`applying patch locally: no kind ${JSON.stringify(info.mapping.kind.kind)} is known`)
  return applyStrategicMergePatch(resource.schema, current, patch) as Unstructured
}

/** Deletes the object and creates it from the configuration; if that fails, the old one is created again. */
async function recreated(info: Info, modified: Unstructured, options: ApplyOptions): Promise<Unstructured> {
  const { helper, namespace, name } = info
  const { clock } = options.factory.environment
  const old = info.loaded
  await helper.delete(namespace, name, {
    ...(options.gracePeriod < 0 ? {} : { gracePeriodSeconds: options.gracePeriod }),
    propagationPolicy: options.propagation,
  })
  const end = clock.monotonic() + options.timeoutMs
  while (!(await isGone(info))) {
    if (options.timeoutMs > 0 && clock.monotonic() >= end) throw new Error("context deadline exceeded")
    await sleep(clock, DELETION_LOOK_MS, options.factory.environment.interrupt)
  }
  try {
    return await helper.create(namespace, withoutVersion(modified))
  } catch (err) {
    try {
      await helper.create(namespace, withoutVersion(old))
    } catch (again) {
      throw new Error(
        `An error occurred force-replacing the existing object with the newly provided one:\n\n${errorMessage(err)}.\n\nAdditionally, an error occurred attempting to restore the original object:\n\n${errorMessage(again)}`,
        { cause: err },
      )
    }
    throw err
  }
}

async function isGone({ helper, namespace, name }: Info): Promise<boolean> {
  try {
    await helper.get(namespace, name)
    return false
  } catch (err) {
    if (isNotFound(err)) return true
    throw err
  }
}
