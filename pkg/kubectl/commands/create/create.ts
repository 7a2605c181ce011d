import { command, type Invocation } from "../../command/command.ts"
import { boolFlag, stringFlag } from "../../command/flag.ts"
import {
  dryRunFlag,
  dryRunOf,
  fieldManagerFlag,
  fieldValidationOf,
  filenameFlags,
  filenameOptions,
  saveConfigFlag,
  selectorFlag,
  validateFlag,
  withDryRun,
} from "../../command/shared-flags.ts"
import { withSource } from "../../errors/source.ts"
import { annotated, keptAnnotated } from "../../last-applied.ts"
import { printerOf, printFlags } from "../../printers/print-flags.ts"
import { requireFiles } from "../../resource/resource-args.ts"
import { withoutVersion, type Unstructured } from "../../rest/json.ts"
import { checkRaw, rawRequest } from "../../rest/raw.ts"
import { recorded, recordFlag } from "../record.ts"
import { GENERATORS } from "./generators.ts"

const flags = {
  ...recordFlag(),
  ...filenameFlags("to create resources from"),
  ...validateFlag(),
  edit: boolFlag(false, "Edit the objects before they are created"),
  "windows-line-endings": boolFlag(false, "Edit with the line ends of Windows. Only together with --edit."),
  ...saveConfigFlag(),
  ...dryRunFlag(),
  ...selectorFlag(),
  raw: stringFlag("", "The path to send the POST to, at the server of the kubeconfig."),
  ...fieldManagerFlag("kubectl-create"),
  ...printFlags(),
}

type CreateInvocation = Invocation<typeof flags>

/** Source: kubectl pkg/cmd/create/create.go. */
export const createCommand = command({
  use: "create -f FILENAME",
  noFlagsInUse: true,
  short: "Create a resource from a file or from the input",
  long: `
Create a resource from a file or from the input.

 JSON and YAML are accepted.`,
  example: `
# Create the pod that pod.json describes
kubectl create -f ./pod.json

# Create the pod that the JSON of the input describes
cat pod.json | kubectl create -f -

# Edit what registry.yaml describes as JSON, then create it
kubectl create -f registry.yaml --edit -o json
`,
  flags,
  commands: GENERATORS,
  async run(invocation) {
    const { flags: values, args, factory, out, usageError } = invocation
    if (args.length > 0) throw usageError(`Unexpected args: [${args.join(" ")}]`)
    const dryRun = dryRunOf(values["dry-run"], factory.log)
    const fieldValidation = fieldValidationOf(values.validate)
    const printer = await printerOf(values, withDryRun("created", dryRun), factory)
    requireFiles(filenameOptions(values))
    if (values.raw !== "") return createRaw(invocation)
    if (values.edit) return createEdited(invocation)
    const { namespace, explicit } = await factory.namespace()
    const validate = await factory.validator(fieldValidation)
    const result = await factory.build({
      files: filenameOptions(values),
      namespace,
      defaultNamespace: true,
      enforceNamespace: explicit,
      labelSelector: values.selector,
      requireObject: false,
      continueOnError: true,
      flatten: true,
      ...(validate === undefined ? {} : { validate }),
    })
    let count = 0
    await result.visit(async (info) => {
      info.object = recorded(keptAnnotated(info.loaded, values["save-config"]), invocation)
      if (dryRun !== "client")
        try {
          info.refresh(
            await info.helper.create(info.namespace, withoutVersion(info.object), {
              fieldManager: values["field-manager"],
              fieldValidation,
              serverDryRun: dryRun === "server",
            }),
          )
        } catch (err) {
          throw withSource("creating", info.source, err)
        }
      count++
      await printer.print(info.loaded, out)
    })
    if (count === 0) throw new Error("no objects passed to create")
  },
})

/** Lets the user edit each object, and creates it. Source: RunEditOnCreate. */
async function createEdited(invocation: CreateInvocation): Promise<void> {
  const { flags: values, factory } = invocation
  const { EditSession } = await import("../edit/edit-session.ts")
  const { editPrinter, streamsOf } = await import("../edit/edit.ts")
  const { namespace, explicit } = await factory.namespace()
  const result = await factory.build({
    files: filenameOptions(values),
    namespace,
    defaultNamespace: true,
    enforceNamespace: explicit,
    continueOnError: true,
    flatten: true,
  })
  const parts = {
    ...streamsOf(invocation),
    mode: "create" as const,
    fieldManager: "kubectl-create",
    fieldValidation: fieldValidationOf(values.validate),
    subresource: "",
    namespace,
    outputPatch: false,
    windowsLineEndings: values["windows-line-endings"],
    output: values.output,
    annotate: (object: Unstructured) => recorded(values["save-config"] ? annotated(object) : object, invocation),
    print: editPrinter(invocation),
  }
  await result.visit((info) => new EditSession(parts, [info]).run())
}

async function createRaw({ flags: values, factory, out }: CreateInvocation): Promise<void> {
  if (values.edit) throw new Error("--raw and --edit are mutually exclusive")
  if (values.filename.length !== 1) throw new Error("--raw can only use a single local file or stdin")
  const filename = values.filename[0]!
  if (/^https?:\/\//.test(filename)) throw new Error("--raw cannot read from a url")
  if (values.recursive) throw new Error("--raw and --recursive are mutually exclusive")
  if (values.selector !== "") throw new Error("--raw and --selector (-l) are mutually exclusive")
  if (values.output !== "") throw new Error("--raw and --output are mutually exclusive")
  checkRaw(values.raw)
  await rawRequest(factory, out, { method: "POST", raw: values.raw, filename })
}
