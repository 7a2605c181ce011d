import type { FilenameOptions } from "../resource/resource-args.ts"
import type { Log } from "../rest/log.ts"
import { boolFlag, int64Flag, stringFlag, stringSliceFlag, type FlagValues } from "./flag.ts"

/** `-f`, `-k` and `-R`. Source of the flags of this file: kubectl pkg/cmd/util/helpers.go. */
export const filenameFlags = (usage: string) => ({
  filename: stringSliceFlag([], `The file, folder or address of files ${usage}`, { shorthand: "f" }),
  kustomize: stringFlag("", "The folder of a kustomization to build. Not together with -f or -R.", { shorthand: "k" }),
  recursive: boolFlag(
    false,
    "Read the folders below the one of -f, --filename too. Useful for manifests that are kept together in one folder.",
    { shorthand: "R" },
  ),
})

export const filenameOptions = (flags: FlagValues<ReturnType<typeof filenameFlags>>): FilenameOptions => ({
  filenames: flags.filename,
  kustomize: flags.kustomize,
  recursive: flags.recursive,
})

export const selectorFlag = () => ({
  selector: stringFlag(
    "",
    "A label selector with '=', '==', '!=', 'in', 'notin' (e.g. -l key1=value1,key2=value2,key3 in (value3)). Objects must match all of its parts.",
    { shorthand: "l" },
  ),
})

export const chunkSizeFlag = () => ({
  "chunk-size": int64Flag(500, "The number of objects that a large list is asked for at once. 0 asks for all."),
})

export const fieldManagerFlag = (fallback: string) => ({
  "field-manager": stringFlag(fallback, "The name by which the owner of fields is remembered."),
})

export const dryRunFlag = () => ({
  "dry-run": stringFlag(
    "none",
    'Must be "none", "server", or "client". With client, only print the object that would be sent. With server, send the request, but the server does not keep the change.',
    { noOptionDefault: "unchanged" },
  ),
})

export const validateFlag = () => ({
  validate: stringFlag(
    "strict",
    'Must be one of: strict (or true), warn, ignore (or false). "true" or "strict" has unknown and duplicate fields refused: by the server if it can, otherwise by a less reliable check of this program. "warn" has the server warn about them, and "false" or "ignore" has them dropped silently.',
    { noOptionDefault: "strict" },
  ),
})

export const saveConfigFlag = () => ({
  "save-config": boolFlag(
    false,
    "If true, keep the configuration of the object in its annotation. Useful if you mean to run kubectl apply on it later.",
  ),
})

export const subresourceFlag = (usage: string) => ({ subresource: stringFlag("", usage) })

export const allNamespacesFlag = (usage: string) => ({
  "all-namespaces": boolFlag(false, usage, { shorthand: "A" }),
})

/** What `--dry-run` asks for. */
export type DryRun = "none" | "client" | "server"

/** @throws Error for a value that there is not. Warns of values of old versions. */
export function dryRunOf(value: string, log: Pick<Log, "warning">): DryRun {
  if (value === "none" || value === "client" || value === "server") return value
  if (value === "unchanged") {
    log.warning("--dry-run is deprecated and can be replaced with --dry-run=client.", "helpers.go:719")
    return "client"
  }
  const old = ["1", "t", "T", "true", "TRUE", "True"].includes(value)
    ? "client"
    : ["0", "f", "F", "false", "FALSE", "False"].includes(value)
      ? "none"
      : undefined
  if (old === undefined) throw new Error(`Invalid dry-run value (${value}). Must be "none", "server", or "client".`)
  log.warning(
    `--dry-run=${value} is deprecated (boolean value) and can be replaced with --dry-run=${old}.`,
    old === "client" ? "helpers.go:733" : "helpers.go:736",
  )
  return old
}

/** The message of a command after a dry run: `created (dry run)`. */
export const withDryRun = (operation: string, dryRun: DryRun): string =>
  dryRun === "none" ? operation : `${operation} (${dryRun === "client" ? "" : "server "}dry run)`

export type FieldValidation = "Strict" | "Warn" | "Ignore"

/** @throws Error for a value that there is not */
export function fieldValidationOf(value: string): FieldValidation {
  const known: Readonly<Record<string, FieldValidation>> = { strict: "Strict", warn: "Warn", ignore: "Ignore" }
  const found = known[value]
  if (found !== undefined) return found
  if (["1", "t", "T", "true", "TRUE", "True"].includes(value)) return "Strict"
  if (["0", "f", "F", "false", "FALSE", "False"].includes(value)) return "Ignore"
  throw new Error(
    `invalid - validate option ${JSON.stringify(value)}; must be one of: strict (or true), warn, ignore (or false)`,
  )
}
