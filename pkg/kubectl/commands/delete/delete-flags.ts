import { boolFlag, durationFlag, intFlag, stringFlag, type FlagValues } from "../../command/flag.ts"
import { filenameFlags } from "../../command/shared-flags.ts"
import type { Output } from "../../printers/output.ts"

/** Flags of deletions, which `replace` and `apply` have too. Source: kubectl pkg/cmd/delete/delete_flags.go. */
export const deletionFlags = (usage: string) => ({
  ...filenameFlags(usage),
  cascade: stringFlag(
    "background",
    'Must be "background", "orphan", or "foreground". What becomes of the dependents (e.g. Pods created by a ReplicationController).',
    { noOptionDefault: "background" },
  ),
  force: boolFlag(
    false,
    "If true, remove objects from the API at once, without a graceful end. Some resources may become inconsistent or lose data by it.",
  ),
  "grace-period": intFlag(
    -1,
    "Seconds that the resource has to end. Ignored if negative. 1 ends it at once. 0 only together with --force (force deletion).",
  ),
  timeout: durationFlag(0, "How long to wait for the end before giving up; zero means as long as the object needs"),
  wait: boolFlag(false, "If true, wait until the resources are gone. This waits for finalizers."),
})

export type DeletionValues = FlagValues<ReturnType<typeof deletionFlags>>

export type Propagation = "Background" | "Foreground" | "Orphan"

/**
 * Returns what becomes of dependents. Old values, which were true or false, are told to be old.
 * @throws Error for a value that there is not
 */
export async function propagationOf(cascade: string, errOut: Output): Promise<Propagation> {
  const known: Readonly<Record<string, Propagation>> = {
    background: "Background",
    foreground: "Foreground",
    orphan: "Orphan",
  }
  if (Object.hasOwn(known, cascade)) return known[cascade]!
  const isTrue = ["1", "t", "T", "true", "TRUE", "True"].includes(cascade)
  if (!isTrue && !["0", "f", "F", "false", "FALSE", "False"].includes(cascade))
    throw new Error(`invalid cascade value (${cascade}). Must be "background", "foreground", or "orphan"`)
  const instead = isTrue ? "background" : "orphan"
  await errOut.write(
    `warning: --cascade=${cascade} is deprecated (boolean value) and can be replaced with --cascade=${instead}.\n`,
  )
  return known[instead]!
}
