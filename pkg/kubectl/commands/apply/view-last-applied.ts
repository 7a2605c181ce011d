import { command } from "../../command/command.ts"
import { boolFlag, stringFlag } from "../../command/flag.ts"
import { filenameFlags, filenameOptions, selectorFlag } from "../../command/shared-flags.ts"
import { withSource } from "../../errors/source.ts"
import { lastApplied } from "../../last-applied.ts"
import { parseJson } from "../../rest/json.ts"
import { writeYaml } from "../../../yaml/write.ts"

/** Source: kubectl pkg/cmd/apply/apply_view_last_applied.go. */
export const viewLastAppliedCommand = command({
  use: "view-last-applied (TYPE [NAME | -l label] | TYPE/NAME | -f FILENAME)",
  noFlagsInUse: true,
  short: "View the configuration that was applied last",
  long: `
View the configuration that was applied last, of objects by type and name or by file.

 It is printed as YAML; -o asks for another format.`,
  example: `
# View what was applied last to a deployment, as YAML
kubectl apply view-last-applied deployment/nginx

# View what was applied last to the objects of a file, as JSON
kubectl apply view-last-applied -f deploy.yaml -o json`,
  flags: {
    output: stringFlag("yaml", "Output format. Must be one of (yaml, json)", { shorthand: "o" }),
    all: boolFlag(false, "Select all resources of the types, in the namespace"),
    ...filenameFlags("with objects that have the annotation"),
    ...selectorFlag(),
  },
  async run({ flags, args, factory, out, usageError }) {
    const { namespace, explicit } = await factory.namespace()
    const result = await factory.build({
      args,
      files: filenameOptions(flags),
      namespace,
      defaultNamespace: true,
      enforceNamespace: explicit,
      allowEmptySelector: explicit,
      selectAll: flags.all,
      labelSelector: flags.selector,
      latest: true,
      flatten: true,
    })
    const texts: string[] = []
    await result.visit((info) => {
      const text = lastApplied(info.loaded)
      if (text === undefined) {
        const verb = `no last-applied-configuration annotation found on resource: ${info.name}\n`
        // Without a file upstream has no error to put the words into, and the object is left out.
        const missing = withSource(verb, info.source, new Error("%!v(<nil>)"))
        if (info.source !== "") return Promise.reject(missing as Error)
      } else texts.push(text)
      return Promise.resolve()
    })
    for (const text of texts)
      if (flags.output === "json") await out.write(`${JSON.stringify(parseJson(text), undefined, "  ")}\n`)
      else if (flags.output === "yaml") await out.write(writeYaml(parseJson(text)))
      else throw usageError(`Unexpected -o output mode: ${flags.output}, the flag 'output' must be one of yaml|json`)
  },
})
