import { boolFlag } from "../command/flag.ts"
import type { Invocation } from "../command/command.ts"
import type { Unstructured } from "../rest/json.ts"

/** `--record`, which writes the command into an annotation. Source: cli-runtime pkg/genericclioptions/record_flags.go. */
export const recordFlag = () => ({
  record: boolFlag(false, "If true, write this command into an annotation of the resource.", {
    deprecated: "--record will be removed in the future",
  }),
})

const CHANGE_CAUSE = "kubernetes.io/change-cause"

/** Returns the command line as the annotation has it: words, arguments, then flags with their values. */
const changeCause = ({ path, args, given }: Pick<Invocation, "path" | "args" | "given">): string =>
  [path, ...args, ...given.map(([name, text]) => `--${name}=${text}`)].join(" ")

/** Returns the object with the command in its annotation, if the command line asks for that. */
export function recorded(object: Unstructured, invocation: Invocation<ReturnType<typeof recordFlag>>): Unstructured {
  if (!invocation.flags.record) return object
  const cause = changeCause(invocation)
  const annotations = { ...object.metadata?.annotations, [CHANGE_CAUSE]: cause }
  return { ...object, metadata: { ...object.metadata, annotations } }
}
