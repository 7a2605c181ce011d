import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { errorMessage } from "../../../errors/error-message.ts"
import type { Invocation } from "../../command/command.ts"
import { boolFlag, type FlagValues } from "../../command/flag.ts"
import {
  dryRunFlag,
  fieldManagerFlag,
  filenameFlags,
  filenameOptions,
  type DryRun,
} from "../../command/shared-flags.ts"
import { throwAggregate } from "../../errors/aggregate.ts"
import { builtinMeta } from "../../patch/builtin-meta.ts"
import { strategicDiff } from "../../patch/strategic-diff.ts"
import { typedForm } from "../../printers/typed-form.ts"
import { typedAnswer } from "../../printers/typed-answer.ts"
import { printFlags } from "../../printers/print-flags.ts"
import { type ResourcePrinter } from "../../printers/printer.ts"
import type { Info } from "../../resource/info.ts"
import type { Result } from "../../resource/result.ts"
import { goJson, parseGroupVersion, type Unstructured } from "../../rest/json.ts"
import { KUBECTL_SCHEME } from "../../resource/scheme-names.ts"

/** The flags that all commands below `set` have. */
export const setFlags = () => ({
  ...printFlags(),
  ...filenameFlags("with the resources to change"),
  all: boolFlag(false, "Select all resources of the types, in the namespace."),
  local: boolFlag(false, "If true, do not ask the server, but work on files only."),
  ...dryRunFlag(),
  ...fieldManagerFlag("kubectl-set"),
})

export type SetValues = FlagValues<ReturnType<typeof setFlags>>
export type SetInvocation = Pick<Invocation, "factory" | "out">

export const LOCAL_AND_SERVER = "cannot specify --local and --dry-run=server - did you mean --dry-run=client?"

/** Finds the resources to change, as they are on the server; only those of files for `--local`. */
export async function found(
  { factory }: SetInvocation,
  values: SetValues & { readonly selector?: string },
  resources: readonly string[],
  { checksLocal = true, stdinInUse = false } = {},
): Promise<Result> {
  if (values.local && checksLocal && resources.length > 0)
    throw new Error(
      "error: you must specify resources by --filename when --local is set.\nExample resource specifications include:\n   '-f rsrc.yaml'\n   '--filename=rsrc.json'",
    )
  const { namespace, explicit } = await factory.namespace()
  return factory.build({
    files: filenameOptions(values),
    scheme: KUBECTL_SCHEME,
    namespace,
    defaultNamespace: true,
    enforceNamespace: explicit,
    local: values.local,
    continueOnError: true,
    flatten: true,
    stdinInUse,
    ...(values.local
      ? { requireObject: false }
      : {
          labelSelector: values.selector ?? "",
          allowEmptySelector: values.all,
          args: resources,
          latest: true,
        }),
  })
}

/** How a command changes objects. */
export interface Setting {
  readonly printer: ResourcePrinter
  readonly dryRun: DryRun
  /** Returns the changed object; undefined for one that is left as it is. @throws Error where that is not possible */
  change(object: Unstructured, info: Info): Unstructured | undefined | Promise<Unstructured | undefined>
  /** What a refusal of the server is called, up to its message. */
  readonly failure: string
  /** Whether objects that are already as they shall be are sent and printed too. */
  readonly sendsUnchanged?: boolean
  /** Errors that were found on the way, in order; those of `changeAll` are put to them. */
  readonly errors?: unknown[]
  /** Looks at an answer before it is printed. */
  readonly check?: () => void
}

/** Changes all objects, then sends what has changed, and prints it. Source: kubectl pkg/cmd/set/helper.go (CalculatePatches). */
export async function changeAll(
  { out }: SetInvocation,
  values: SetValues,
  infos: readonly Info[],
  setting: Setting,
): Promise<void> {
  const { printer, dryRun, failure, errors = [] } = setting
  const changes: { readonly info: Info; readonly after?: Unstructured; readonly err?: unknown }[] = []
  for (const info of infos)
    try {
      const after = await setting.change(info.loaded, info)
      if (after !== undefined) changes.push({ info, after })
    } catch (err) {
      changes.push({ info, err })
    }
  for (const { info, after, err } of changes) {
    if (after === undefined) {
      errors.push(new Error(`error: ${info.objectName} ${errorMessage(err)}\n`))
      continue
    }
    if (setting.sendsUnchanged !== true && deepEqual(info.loaded, after)) continue
    if (values.local || dryRun === "client") {
      await printer.print(await typedForm(after), out)
      continue
    }
    let answer
    try {
      answer = await send(info, after, values["field-manager"], dryRun)
    } catch (cause) {
      errors.push(new Error(`${failure} ${errorMessage(cause)}`, { cause }))
      continue
    }
    setting.check?.()
    await printer.print(await typedAnswer(answer, values.output), out)
  }
  throwAggregate(errors)
}

/** Sends what differs as a strategic merge patch. */
export async function send(
  info: Info,
  after: Unstructured,
  fieldManager: string,
  dryRun: DryRun,
  before = info.loaded,
): Promise<Unstructured> {
  const { kind = "", apiVersion = "" } = after
  const meta = await builtinMeta({ ...parseGroupVersion(apiVersion), kind })
  if (meta === undefined) throw new Error(`no kind ${JSON.stringify(kind)} is registered for version "${apiVersion}"`)
  const patch = strategicDiff(before, after, meta, { changes: true, deletions: true, order: true })
  return info.helper.patch(info.namespace, info.name, "application/strategic-merge-patch+json", goJson(patch), {
    fieldManager,
    serverDryRun: dryRun === "server",
  })
}
