import { command } from "../../command/command.ts"
import { boolFlag } from "../../command/flag.ts"
import {
  fieldManagerFlag,
  fieldValidationOf,
  filenameFlags,
  filenameOptions,
  validateFlag,
} from "../../command/shared-flags.ts"
import { lastApplied } from "../../last-applied.ts"
import { printFlags } from "../../printers/print-flags.ts"
import type { Info } from "../../resource/info.ts"
import { EditSession } from "../edit/edit-session.ts"
import { editPrinter, streamsOf } from "../edit/edit.ts"
import { recorded, recordFlag } from "../record.ts"

/** Source: kubectl pkg/cmd/apply/apply_edit_last_applied.go. */
export const editLastAppliedCommand = command({
  use: "edit-last-applied (RESOURCE/NAME | -f FILENAME)",
  noFlagsInUse: true,
  short: "Edit what was applied last to a resource",
  long: `
Edit in your editor what was applied last to resources, which an annotation of theirs has.

 The editor is that of the variable KUBE_EDITOR or EDITOR, otherwise 'vi'. The configurations are edited as YAML, or as JSON with "-o json".`,
  example: `
# Edit what was applied last to a deployment, as YAML
kubectl apply edit-last-applied deployment/nginx

# Edit what was applied last to the objects of a file, as JSON
kubectl apply edit-last-applied -f deploy.yaml -o json`,
  flags: {
    ...recordFlag(),
    ...printFlags(),
    ...filenameFlags("to edit the resources of"),
    "windows-line-endings": boolFlag(false, "Edit the file with the line ends of Windows."),
    ...fieldManagerFlag("kubectl-client-side-apply"),
    ...validateFlag(),
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
      continueOnError: true,
      flatten: true,
    })
    const fieldValidation = fieldValidationOf(values.validate)
    const configurations: Info[] = []
    for (const { loaded } of await result.infos()) {
      const text = lastApplied(loaded)
      if (text === undefined) continue
      const applied = await factory.build({
        stream: { text, source: "edited-file" },
        continueOnError: true,
        flatten: true,
      })
      const [first] = await applied.infos()
      if (first !== undefined) configurations.push(first)
    }
    if (configurations.length === 0)
      throw new Error(
        "no last-applied-configuration annotation found on resources, to create the annotation, use command `kubectl apply set-last-applied --create-annotation`",
      )
    await new EditSession(
      {
        ...streamsOf(invocation),
        mode: "last-applied",
        fieldManager: values["field-manager"],
        fieldValidation,
        subresource: "",
        namespace,
        outputPatch: false,
        windowsLineEndings: values["windows-line-endings"],
        output: values.output,
        annotate: (object) => recorded(object, invocation),
        print: editPrinter(invocation),
      },
      configurations,
    ).run()
  },
})
