import type { Application } from "./application.ts"
import type { Fault } from "./faults.ts"
import type { SchemaNode } from "./schema-document.ts"
import type { ReferenceKeyword, Target } from "./schema-set.ts"

/** Applies the schema that a keyword refers to, if there is such a keyword. */
export function referenceFault(application: Application, value: unknown, keyword: ReferenceKeyword): Fault | undefined {
  const { schema, path, evaluation } = application
  const target = evaluation.set.target(schema, keyword)
  if (target === undefined) return undefined
  const fault = evaluation.same(application, [keyword], referred(application, keyword, target), value)
  if (fault === undefined) return undefined
  const causes = fault.kind === "group" ? fault.causes : [fault]
  return { path, text: "validation failed", causes, kind: "reference" }
}

/** The outermost schema on the way here that takes the place of the one that is named. */
function referred({ scope }: Application, keyword: ReferenceKeyword, { node, anchor }: Target): SchemaNode {
  let found = node
  if (keyword === "$recursiveRef" && node.resource.isRecursive)
    for (let at: typeof scope | undefined = scope; at !== undefined; at = at.above) {
      const { document, resource } = at.node
      if (resource.isRecursive) found = document.resolve("", resource).node
    }
  if (keyword === "$dynamicRef" && anchor !== undefined && node.resource.dynamic.has(anchor))
    for (let at: typeof scope | undefined = scope; at !== undefined; at = at.above) {
      const { dynamic, anchors } = at.node.resource
      const named = dynamic.has(anchor) ? anchors.get(anchor) : undefined
      if (named !== undefined) found = named
    }
  return found
}
