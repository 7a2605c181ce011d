import { isForbidden, isMethodNotSupported, isNotFound } from "../../errors/status-error.ts"
import { withSource } from "../../errors/source.ts"
import { withDryRun, type DryRun } from "../../command/shared-flags.ts"
import type { Environment } from "../../environment/environment.ts"
import type { Output } from "../../printers/output.ts"
import type { Info } from "../../resource/info.ts"
import type { Result } from "../../resource/result.ts"
import type { Warnings } from "../../rest/warnings.ts"
import { waitDeleted } from "../wait-deleted.ts"
import type { Propagation } from "./delete-flags.ts"

const WEEK_MS = 7 * 24 * 3_600_000

/** How objects are deleted. */
export interface DeletionOptions {
  readonly environment: Environment
  readonly out: Output
  readonly warnings: Warnings
  readonly propagation: Propagation
  /** In seconds; negative: as the object says. */
  readonly gracePeriod: number
  readonly dryRun: DryRun
  readonly ignoreNotFound: boolean
  readonly waits: boolean
  /** 0: as long as it takes. */
  readonly timeoutMs: number
  /** `name`, or empty. */
  readonly output: string
  /** Whether only errors are said. */
  readonly quiet?: boolean
  /** Whether to warn that an object is in no namespace, though the command line names one. */
  readonly warnClusterScope: boolean
  /** Leaves out objects that the user has not seen before. */
  readonly selects?: (info: Info) => boolean
}

/** Deletes what was found, and waits until it is gone. Source: kubectl pkg/cmd/delete/delete.go (DeleteResult). */
export async function deleteObjects(result: Result, options: DeletionOptions): Promise<void> {
  const { out, dryRun, propagation, gracePeriod, quiet = false } = options
  if (options.ignoreNotFound) result.ignoreErrors(isNotFound)
  let warns = options.warnClusterScope
  const deleted: { readonly info: Info; readonly uid: string | undefined }[] = []
  await result.visit(async (info) => {
    if (options.selects?.(info) === false) return
    const entry = { info, uid: undefined as string | undefined }
    deleted.push(entry)
    if (warns && !info.mapping.namespaced) {
      options.warnings.print("deleting cluster-scoped resources, not scoped to the provided namespace")
      warns = false
    }
    if (dryRun !== "client") {
      const body = { ...(gracePeriod < 0 ? {} : { gracePeriodSeconds: gracePeriod }), propagationPolicy: propagation }
      try {
        const answer = await info.helper.delete(info.namespace, info.name, body, { serverDryRun: dryRun === "server" })
        const details = answer["details"] as { readonly uid?: string } | undefined
        entry.uid = answer.kind === "Status" ? details?.uid : answer.metadata?.uid
      } catch (err) {
        throw withSource("deleting", info.source, err)
      }
    }
    if (!quiet) await out.write(lineOf(info, options))
  })
  if (deleted.length === 0) return out.write("No resources found\n")
  if (!options.waits || dryRun !== "none") return
  try {
    await waitAll(deleted, options)
  } catch (err) {
    // Who may delete may not always look.
    if (!isForbidden(err) && !isMethodNotSupported(err)) throw err
  }
}

/** Waits for all objects together: the time is that of the command. */
async function waitAll(
  deleted: readonly { readonly info: Info; readonly uid: string | undefined }[],
  { environment, timeoutMs }: DeletionOptions,
): Promise<void> {
  const { clock } = environment
  const end = clock.monotonic() + (timeoutMs === 0 ? WEEK_MS : timeoutMs)
  for (const { info, uid } of deleted)
    await waitDeleted(info, { environment, uid, timeoutMs: Math.max(1, end - clock.monotonic()) })
}

/** The kind and its group, as messages about objects have them: `deployment.apps`. */
export const kindText = ({ mapping: { kind } }: Info): string =>
  kind.group === "" ? kind.kind.toLowerCase() : `${kind.kind.toLowerCase()}.${kind.group}`

function lineOf(info: Info, { output, gracePeriod, dryRun }: DeletionOptions): string {
  if (output === "name") return `${kindText(info)}/${info.name}\n`
  const place = info.namespaced ? ` from ${info.namespace} namespace` : ""
  const operation = `${gracePeriod === 0 ? "force deleted" : "deleted"}${place}`
  return `${kindText(info)} "${info.name}" ${withDryRun(operation, dryRun)}\n`
}
