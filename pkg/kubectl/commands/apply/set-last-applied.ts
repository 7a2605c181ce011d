import { command } from "../../command/command.ts"
import { boolFlag, stringSliceFlag } from "../../command/flag.ts"
import { dryRunFlag, dryRunOf, withDryRun } from "../../command/shared-flags.ts"
import { withSource } from "../../errors/source.ts"
import { isNotFound } from "../../errors/status-error.ts"
import { LAST_APPLIED, lastApplied } from "../../last-applied.ts"
import { printerOf, printFlags } from "../../printers/print-flags.ts"
import type { Info } from "../../resource/info.ts"
import { goJson, parseJson } from "../../rest/json.ts"

/** Source: kubectl pkg/cmd/apply/apply_set_last_applied.go. */
export const setLastAppliedCommand = command({
  use: "set-last-applied -f FILENAME",
  noFlagsInUse: true,
  short: "Set the annotation of what was applied last to the contents of a file",
  long: `
Set the annotation of what was applied last to the contents of a file. It becomes what it would be after 'kubectl apply -f <file>', and nothing else of the object changes.`,
  example: `
# Set what was applied last to an object to the contents of a file
kubectl apply set-last-applied -f deploy.yaml

# Do so with each file of a folder
kubectl apply set-last-applied -f path/

# Do so also where the object has no such annotation yet
kubectl apply set-last-applied -f deploy.yaml --create-annotation=true`,
  flags: {
    ...printFlags(),
    ...dryRunFlag(),
    "create-annotation": boolFlag(false, "If true, create the annotation where the object has none"),
    filename: stringSliceFlag([], "The file, folder or address of files with the configurations", { shorthand: "f" }),
  },
  async run({ flags, factory, out }) {
    const dryRun = dryRunOf(flags["dry-run"], factory.log)
    const printer = await printerOf(flags, withDryRun("configured", dryRun), factory)
    const { namespace, explicit } = await factory.namespace()
    const result = await factory.build({
      files: { filenames: flags.filename, kustomize: "", recursive: false },
      namespace,
      defaultNamespace: true,
      enforceNamespace: explicit,
      requireObject: false,
      flatten: true,
    })
    const changes: { readonly info: Info; readonly patch: string }[] = []
    await result.visit(async (info) => {
      const configuration = goJson(info.loaded)
      try {
        await info.get()
      } catch (err) {
        if (isNotFound(err)) throw err
        throw withSource(`retrieving current configuration of:\n${info.text}\nfrom server for:`, info.source, err)
      }
      const before = lastApplied(info.loaded)
      if (before === undefined && !flags["create-annotation"])
        throw new Error(
          `no last-applied-configuration annotation found on resource: ${info.name}, to create the annotation, run the command with --create-annotation`,
        )
      if (before !== undefined && goJson(parseJson(before)) === configuration)
        await out.write(`set-last-applied ${info.name}: no changes required.\n`)
      else changes.push({ info, patch: goJson({ metadata: { annotations: { [LAST_APPLIED]: configuration } } }) })
    })
    for (const { info, patch } of changes) {
      const object =
        dryRun === "client"
          ? info.loaded
          : await info.helper.patch(info.namespace, info.name, "application/merge-patch+json", patch, {
              serverDryRun: dryRun === "server",
            })
      await printer.print(object, out)
    }
  },
})
