import { command, type Invocation } from "../../command/command.ts"
import { boolFlag } from "../../command/flag.ts"
import {
  fieldManagerFlag,
  fieldValidationOf,
  filenameFlags,
  filenameOptions,
  saveConfigFlag,
  subresourceFlag,
  validateFlag,
} from "../../command/shared-flags.ts"
import { annotated } from "../../last-applied.ts"
import { printerOf, printFlags } from "../../printers/print-flags.ts"
import { recorded, recordFlag } from "../record.ts"
import { EditSession } from "./edit-session.ts"

/** Source: kubectl pkg/cmd/edit/edit.go. */
export const editCommand = command({
  use: "edit (RESOURCE/NAME | -f FILENAME)",
  noFlagsInUse: true,
  short: "Edit a resource on the server",
  long: `
Edit a resource in your editor.

 The objects that files or arguments name are read from the server, and what you change in them is sent as a patch, one object after the other. The editor is that of the variable KUBE_EDITOR or EDITOR, otherwise 'vi'. A command with quotes is run by the shell of the variable SHELL, or '/bin/bash'.

 Objects are edited as YAML, or as JSON with "-o json", in the version of the API in which they are read: name resource, version and group to have another one.

 When the server does not take a change, your edits stay in a temporary file. Most often somebody else has changed the object meanwhile: make your changes again in the newer one.`,
  example: `
# Edit the service 'registry'
kubectl edit svc/registry

# Use another editor
KUBE_EDITOR="nano" kubectl edit svc/registry

# Edit the job 'myjob' as JSON, in the version v1 of its API
kubectl edit job.v1.batch/myjob -o json

# Edit the deployment 'mydeployment' as YAML and keep the configuration in its annotation
kubectl edit deployment/mydeployment -o yaml --save-config

# Edit the subresource 'status' of the deployment 'mydeployment'
kubectl edit deployment mydeployment --subresource='status'`,
  flags: {
    ...recordFlag(),
    ...printFlags(),
    ...filenameFlags("to edit the resources of"),
    ...validateFlag(),
    "output-patch": boolFlag(false, "Print the patch, if the resource is edited."),
    "windows-line-endings": boolFlag(false, "Edit the file with the line ends of Windows."),
    ...fieldManagerFlag("kubectl-edit"),
    ...saveConfigFlag(),
    ...subresourceFlag("The subresource to edit."),
  },
  async run(invocation) {
    const { flags: values, args, factory } = invocation
    const { namespace, explicit } = await factory.namespace()
    const result = await factory.build({
      args,
      allowEmptySelector: true,
      latest: true,
      files: filenameOptions(values),
      namespace,
      defaultNamespace: true,
      enforceNamespace: explicit,
      subresource: values.subresource,
      continueOnError: true,
      flatten: true,
    })
    const fieldValidation = fieldValidationOf(values.validate)
    const infos = await result.infos()
    if (infos.length === 0) throw new Error("edit cancelled, no objects found")
    await new EditSession(
      {
        ...streamsOf(invocation),
        mode: "patch",
        fieldManager: values["field-manager"],
        fieldValidation,
        subresource: values.subresource,
        namespace,
        outputPatch: values["output-patch"],
        windowsLineEndings: values["windows-line-endings"],
        output: values.output,
        annotate: (object) => recorded(values["save-config"] ? annotated(object) : object, invocation),
        print: editPrinter(invocation),
      },
      infos,
    ).run()
  },
})

export const streamsOf = ({
  factory,
  environment,
  out,
  errOut,
}: Pick<Invocation, "factory" | "environment" | "out" | "errOut">) => ({ factory, environment, out, errOut })

/** Prints an object with what has been done to it, or as the flags ask. */
export const editPrinter =
  ({ flags: values, factory, out }: Invocation<ReturnType<typeof printFlags>>) =>
  async (operation: string, object: Parameters<EditSessionPrinter["print"]>[0]): Promise<void> => {
    const printer = await printerOf(values, operation, factory)
    await printer.print(object, out)
  }

type EditSessionPrinter = Awaited<ReturnType<typeof printerOf>>
