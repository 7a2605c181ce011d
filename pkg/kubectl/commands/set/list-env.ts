import { errorMessage } from "../../../errors/error-message.ts"
import type { Container } from "../../polymorphic/pod.ts"
import type { Output } from "../../printers/output.ts"
import type { Unstructured } from "../../rest/json.ts"
import { sourceText, type Sources, type Variable } from "./environment.ts"
import type { Resolver } from "./resolve.ts"

/** Prints the variables of a container; with a resolver the values of those that refer to others. */
export async function listVariables(
  object: Unstructured,
  container: Container,
  { out, errOut, resolver }: { readonly out: Output; readonly errOut: Output; readonly resolver: Resolver | undefined },
): Promise<void> {
  const failures = new Map<string, string[]>()
  await out.write(`# ${object.kind} ${object.metadata?.name ?? ""}, container ${container.name}\n`)
  for (const { name, value = "", valueFrom } of (container["env"] ?? []) as readonly Variable[]) {
    if (valueFrom === undefined) {
      await out.write(`${name}=${value}\n`)
      continue
    }
    try {
      const resolved = await resolver?.value(valueFrom as Sources, object, container)
      await out.write(resolved === undefined ? `# ${name} from ${sourceText(valueFrom)}\n` : `${name}=${resolved}\n`)
    } catch (err) {
      await out.write(`# ${name} from ${sourceText(valueFrom)}\n`)
      const why = errorMessage(err)
      failures.set(why, [...(failures.get(why) ?? []), name])
    }
  }
  const lines = [...failures].map(([why, names]) => `error retrieving reference for ${names.sort().join(", ")}: ${why}`)
  for (const line of lines.sort()) await errOut.write(`${line}\n`)
}
