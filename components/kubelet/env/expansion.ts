/**
 * Replaces `$(NAME)` by what `valueOf` gives. What it does not know stays as it is written; `$$` is one `$`, so that `$$(NAME)` is never replaced.
 * Source: third_party/forked/golang/expansion.
 */
export function expand(text: string, valueOf: (name: string) => string | undefined): string {
  if (!text.includes("$")) return text
  // An operator that is neither doubled nor followed by a closed pair of parentheses stands for itself.
  return text.replace(/\$(?:\$|\(([^)]*)\))/g, (all, name: string | undefined) =>
    name === undefined ? "$" : (valueOf(name) ?? all),
  )
}
