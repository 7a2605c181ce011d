import type { ChangedField } from "./entry.ts"

const MASKED = "***"
const SECRET_PATH = /^(?:data|stringData)\b|last-applied-configuration$/

/** Returns changed fields of an object; the values of a Secret are masked, since what has changed is shown to others. */
export function maskedChanges(
  changes: readonly ChangedField[],
  { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string },
): readonly ChangedField[] {
  const isSecret = apiVersion === "v1" && kind === "Secret"
  return changes.map(({ path, before, after }) => {
    const masks = isSecret && SECRET_PATH.test(path)
    const shown = (value: unknown) => (value === undefined || !masks ? value : MASKED)
    return { path, before: shown(before), after: shown(after) }
  })
}
