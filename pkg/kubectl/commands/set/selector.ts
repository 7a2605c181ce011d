import { command } from "../../command/command.ts"
import { stringFlag } from "../../command/flag.ts"
import { typedForm } from "../../printers/typed-form.ts"
import { typedAnswer } from "../../printers/typed-answer.ts"
import { labelSelectorOf, type LabelSelector } from "../../resource/label-selector.ts"
import type { Unstructured } from "../../rest/json.ts"
import { recorded, recordFlag } from "../record.ts"
import { begin } from "./begin.ts"
import { found, send, setFlags } from "./change.ts"

/** Source: kubectl pkg/cmd/set/set_selector.go. */
export const setSelectorCommand = command({
  use: "selector (-f FILENAME | TYPE NAME) EXPRESSIONS [--resource-version=version]",
  noFlagsInUse: true,
  short: "Set the selector on a resource",
  long: `
Set the selector of a resource, in place of the one that it has.

 Only services can get one in this way.`,
  example: `
# Give a service its selector before it is created
kubectl create service clusterip my-svc --clusterip="None" -o yaml --dry-run=client | kubectl set selector --local -f - 'environment=qa' -o yaml | kubectl create -f -`,
  flags: {
    ...setFlags(),
    ...recordFlag(),
    "resource-version": stringFlag("", "Change the selector only if this is the version of the resource."),
  },
  async run(invocation) {
    const { flags: values, args, out } = invocation
    const text = args.at(-1)
    const selector = text === undefined ? undefined : labelSelectorOf(text)
    const { dryRun, printer } = await begin(invocation, values, "selector updated")
    if (selector === undefined) throw new Error("one selector is required")
    const result = await found(invocation, values, args.slice(0, -1))
    await result.visit(async (info) => {
      const version = values["resource-version"]
      const before = version === "" ? info.loaded : withVersion(info.loaded, "")
      const after = recorded(withSelector(withVersion(before, version || undefined), selector), invocation)
      if (values.local || dryRun === "client") return printer.print(await typedForm(after), out)
      const answer = await send(info, after, values["field-manager"], dryRun, before)
      await printer.print(await typedAnswer(answer, values.output), out)
    })
  },
})

/** Returns the object with a version; the same one for undefined. */
const withVersion = (object: Unstructured, resourceVersion: string | undefined): Unstructured =>
  resourceVersion === undefined ? object : { ...object, metadata: { ...object.metadata, resourceVersion } }

function withSelector(object: Unstructured, { matchLabels = {}, matchExpressions = [] }: LabelSelector): Unstructured {
  if (object.apiVersion !== "v1" || object.kind !== "Service")
    throw new Error("setting a selector is only supported for Services")
  if (matchExpressions.length > 0) {
    const texts = matchExpressions.map(({ key, operator, values = [] }) => `{${key} ${operator} [${values.join(" ")}]}`)
    throw new Error(`match expression [${texts.join(" ")}] not supported on this object`)
  }
  return { ...object, spec: { ...(object["spec"] as object | undefined), selector: matchLabels } }
}
