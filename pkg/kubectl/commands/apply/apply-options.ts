import type { DryRun, FieldValidation } from "../../command/shared-flags.ts"
import type { Factory } from "../../factory/factory.ts"
import type { Output } from "../../printers/output.ts"
import type { ResourcePrinter } from "../../printers/printer.ts"
import type { Info } from "../../resource/info.ts"
import type { Propagation } from "../delete/delete-flags.ts"

/** What the steps of an apply share. */
export interface ApplyOptions {
  readonly factory: Factory
  readonly out: Output
  readonly errOut: Output
  readonly dryRun: DryRun
  /** Empty: the server decides. */
  readonly fieldValidation: FieldValidation | ""
  readonly fieldManager: string
  readonly propagation: Propagation
  /** In seconds; negative: as the object says. */
  readonly gracePeriod: number
  /** Whether an object is deleted and created again where it cannot be patched. */
  readonly force: boolean
  readonly forceConflicts: boolean
  readonly overwrite: boolean
  readonly openApiPatch: boolean
  readonly subresource: string
  /** Whether a patch is only for the version that was read. */
  readonly locks?: boolean
  /** How long a forced deletion may take, in milliseconds. */
  readonly timeoutMs: number
  /** Whether objects are printed in the end, all together, instead of a line for each. */
  readonly printsObjects: boolean
  printer(operation: string): Promise<ResourcePrinter>
}

/** Prints the line of an object, unless objects themselves are printed in the end. */
export async function report(info: Info, operation: string, options: ApplyOptions): Promise<void> {
  if (options.printsObjects) return
  await (await options.printer(operation)).print(info.loaded, options.out)
}

/** Tells that an object is being deleted while it is applied. */
export async function warnIfDeleting({ object }: Info, errOut: Output): Promise<void> {
  if ((object?.metadata?.deletionTimestamp ?? null) === null) return
  await errOut.write(
    `Warning: Detected changes to resource ${object!.metadata!.name ?? ""} which is currently being deleted.\n`,
  )
}
