import type { AnyField, Fields, Message } from "../../apimachinery/field-spec.ts"
import { f, message } from "../../apimachinery/fields.ts"
import { builtinResource } from "../patch/builtin-meta.ts"
import type { GroupVersionKind } from "../rest/rest-mapper.ts"

/** Groups and versions that no server serves any more, whose kinds have the fields of those in the group beside them. */
const SUCCESSORS: Readonly<Record<string, string>> = {
  "apps/v1beta1": "apps",
  "apps/v1beta2": "apps",
  "batch/v1beta1": "batch",
  "extensions/v1beta1": "apps",
}

/**
 * Returns the fields of a kind with pods in a version that is gone; undefined for other kinds. They are those of
 * today's kind, and in the first versions a few more. Source: k8s.io/api apps/v1beta1, apps/v1beta2, batch/v1beta1 and
 * extensions/v1beta1.
 */
export async function goneSchema({ group, version, kind }: GroupVersionKind): Promise<Message | undefined> {
  const successor = SUCCESSORS[`${group}/${version}`]
  if (successor === undefined) return undefined
  const today = (await builtinResource({ group: successor, version: "v1", kind }))?.schema
  const { spec } = today?.fields ?? {}
  if (today === undefined || spec?.spec.type.kind !== "message") return undefined
  const inner = spec.spec.type.message()
  const former = { ...inner, fields: version === "v1beta1" ? formerFields(kind, inner.fields) : inner.fields }
  const changed = withSpec(spec, { type: { kind: "message", message: () => former } })
  return { ...today, fields: { ...today.fields, spec: changed } }
}

const RollbackConfig = message("apps.v1beta1.RollbackConfig", "What to go back to.", {
  revision: f.int64(1, "The revision; 0 for the one before."),
})

/** Fields of first versions, by the kind and the field that they stand behind. */
const FORMER: Readonly<Record<string, Readonly<Record<string, Fields>>>> = {
  Deployment: { paused: { rollbackTo: f.message(8, RollbackConfig, "What to go back to.").pointer() } },
  DaemonSet: { minReadySeconds: { templateGeneration: f.int64(5, "Counts changes of the template.") } },
}

/** The fields of a spec in a first version: there are some more, and a selector need not be there. */
function formerFields(kind: string, fields: Fields): Fields {
  const entries = Object.entries(fields).flatMap(([name, field]): [string, AnyField][] => [
    [name, name === "selector" ? withSpec(field, { presence: "optional" }) : field],
    ...Object.entries(FORMER[kind]?.[name] ?? {}),
  ])
  return Object.fromEntries(entries)
}

const withSpec = (field: AnyField, more: Partial<AnyField["spec"]>): AnyField => ({
  ...field,
  spec: { ...field.spec, ...more },
})
