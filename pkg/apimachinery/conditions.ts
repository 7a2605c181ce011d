/**
 * Returns the conditions with one of them set: in the place of the one of its type, or at the end. Source:
 * apimachinery pkg/api/meta/conditions.go SetStatusCondition.
 */
export function setCondition<C extends { readonly type: string }>(
  conditions: readonly C[] = [],
  condition: C,
): readonly C[] {
  const at = conditions.findIndex(({ type }) => type === condition.type)
  return at === -1 ? [...conditions, condition] : conditions.with(at, condition)
}
