import { sleep } from "../../clock/clock.ts"
import { command, type Invocation } from "../command/command.ts"
import { stringFlag } from "../command/flag.ts"
import {
  dryRunFlag,
  dryRunOf,
  fieldManagerFlag,
  fieldValidationOf,
  filenameOptions,
  saveConfigFlag,
  subresourceFlag,
  type DryRun,
  validateFlag,
  withDryRun,
} from "../command/shared-flags.ts"
import { withSource } from "../errors/source.ts"
import { isNotFound } from "../errors/status-error.ts"
import { keptAnnotated } from "../last-applied.ts"
import { printerOf, printFlags } from "../printers/print-flags.ts"
import type { ResourcePrinter } from "../printers/printer.ts"
import type { BuilderOptions } from "../resource/builder-options.ts"
import type { Info } from "../resource/info.ts"
import { requireFiles } from "../resource/resource-args.ts"
import { Result } from "../resource/result.ts"
import { inOrder, single } from "../resource/visitor.ts"
import { withoutVersion } from "../rest/json.ts"
import { checkRaw, rawRequest } from "../rest/raw.ts"
import { deletionFlags, propagationOf } from "./delete/delete-flags.ts"
import { deleteObjects } from "./delete/delete-objects.ts"
import { recorded, recordFlag } from "./record.ts"

const GONE_TIMEOUT_MS = 300_000
const GONE_LOOK_MS = 1000

const flags = {
  ...printFlags(),
  ...deletionFlags("with the resources to replace."),
  ...recordFlag(),
  ...validateFlag(),
  ...saveConfigFlag(),
  ...dryRunFlag(),
  raw: stringFlag("", "The path to send the PUT to, at the server of the kubeconfig."),
  ...fieldManagerFlag("kubectl-replace"),
  ...subresourceFlag("The subresource to replace."),
}

type ReplaceInvocation = Invocation<typeof flags>

/** Source: kubectl pkg/cmd/replace/replace.go. */
export const replaceCommand = command({
  use: "replace -f FILENAME",
  noFlagsInUse: true,
  short: "Replace a resource by a file or the input",
  long: `
Replace a resource by a file or the input.

 JSON and YAML are accepted. The file must have the whole resource, which you get by

  $ kubectl get TYPE NAME -o yaml`,
  example: `
# Replace a pod by what pod.json describes
kubectl replace -f ./pod.json

# Replace a pod by what the JSON of the input describes
cat pod.json | kubectl replace -f -

# Change the tag of the image of a pod with one container to v4
kubectl get pod mypod -o yaml | sed 's/\\(image: myimage\\):.*$/\\1:v4/' | kubectl replace -f -

# Delete the resource, and create it again
kubectl replace --force -f ./pod.json`,
  flags,
  async run(invocation) {
    const { flags: values, factory, out } = invocation
    const dryRun = dryRunOf(values["dry-run"], factory.log)
    const printer = await printerOf(values, withDryRun("replaced", dryRun), factory)
    requireFiles(filenameOptions(values))
    check(invocation, dryRun)
    if (values.raw !== "")
      return rawRequest(factory, out, { method: "PUT", raw: values.raw, filename: values.filename[0]! })
    if (values.force) return new ForcedReplacement(invocation, printer).run()
    const fieldValidation = fieldValidationOf(values.validate)
    const result = await found(invocation, { requireObject: false })
    await result.visit(async (info) => {
      info.object = recorded(keptAnnotated(info.loaded, values["save-config"]), invocation)
      if (dryRun !== "client")
        try {
          info.refresh(
            await info.helper.overwrite(info.namespace, info.name, info.object, {
              fieldManager: values["field-manager"],
              fieldValidation,
              subresource: values.subresource,
              serverDryRun: dryRun === "server",
            }),
          )
        } catch (err) {
          throw withSource("replacing", info.source, err)
        }
      await printer.print(info.loaded, out)
    })
  },
})

function check({ flags: values }: ReplaceInvocation, dryRun: DryRun): void {
  if (values["grace-period"] >= 0 && !values.force) throw new Error("--grace-period must have --force specified")
  if (values.timeout !== 0 && !values.force) throw new Error("--timeout must have --force specified")
  if (values.force && dryRun !== "none") throw new Error("--dry-run can not be used when --force is set")
  if (values.raw === "") return
  if (values.filename.length !== 1) throw new Error("--raw can only use a single local file or stdin")
  if (/^https?:\/\//.test(values.filename[0]!)) throw new Error("--raw cannot read from a url")
  if (values.recursive) throw new Error("--raw and --recursive are mutually exclusive")
  if (values.output !== "") throw new Error("--raw and --output are mutually exclusive")
  checkRaw(values.raw)
}

async function found({ flags: values, factory }: ReplaceInvocation, more: BuilderOptions): Promise<Result> {
  const { namespace, explicit } = await factory.namespace()
  const validate = await factory.validator(fieldValidationOf(values.validate))
  return factory.build({
    files: filenameOptions(values),
    namespace,
    defaultNamespace: true,
    enforceNamespace: explicit,
    subresource: values.subresource,
    continueOnError: true,
    flatten: true,
    ...(validate === undefined ? {} : { validate }),
    ...more,
  })
}

/** Deletes the objects, waits until they are gone, and creates them again. */
class ForcedReplacement {
  readonly #invocation: ReplaceInvocation
  readonly #printer: ResourcePrinter

  constructor(invocation: ReplaceInvocation, printer: ResourcePrinter) {
    this.#invocation = invocation
    this.#printer = printer
  }

  async run(): Promise<void> {
    const { flags: values, args, out } = this.#invocation
    // The objects are read twice, but the input only once.
    const infos: Info[] = []
    const result = await found(this.#invocation, { args, requireObject: false })
    await result.visit((info) => {
      infos.push(info)
      return Promise.resolve()
    })
    await this.#delete(infos)
    for (const info of infos) await this.#untilGone(info)
    for (const info of infos) {
      const object = recorded(keptAnnotated(info.loaded, values["save-config"]), this.#invocation)
      info.refresh(
        await info.helper.create(info.namespace, withoutVersion(object), {
          fieldManager: values["field-manager"],
          fieldValidation: fieldValidationOf(values.validate),
        }),
      )
      await this.#printer.print(info.loaded, out)
    }
    if (infos.length === 0) throw new Error("no objects passed to replace")
  }

  async #delete(infos: readonly Info[]): Promise<void> {
    const { flags: values, factory, environment, out, errOut } = this.#invocation
    const seconds = values["grace-period"]
    await deleteObjects(new Result({ visitor: inOrder(infos.map(single)), sources: [] }), {
      environment,
      out,
      warnings: factory.warnings,
      propagation: await propagationOf(values.cascade, errOut),
      // Without a time to end, data could be lost: a second is the least.
      gracePeriod: seconds === 0 ? 1 : seconds,
      dryRun: "none",
      ignoreNotFound: true,
      waits: values.wait || seconds === 0,
      timeoutMs: values.timeout,
      output: values.output,
      warnClusterScope: false,
    })
  }

  async #untilGone({ helper, namespace, name }: Info): Promise<void> {
    const { clock, interrupt } = this.#invocation.environment
    const end = clock.monotonic() + (this.#invocation.flags.timeout || GONE_TIMEOUT_MS)
    for (;;) {
      try {
        await helper.get(namespace, name)
      } catch (err) {
        if (isNotFound(err)) return
        throw err
      }
      if (clock.monotonic() >= end) throw new Error("context deadline exceeded")
      await sleep(clock, GONE_LOOK_MS, interrupt)
    }
  }
}
